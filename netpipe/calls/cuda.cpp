// Calls of the CUDA runtime, timed. The timed loops hold the call, the clock and, in turn with other work, the wait.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "netpipe/calls/after_free.hpp"
#include "netpipe/calls/blocking_copies.hpp"
#include "netpipe/calls/timed.hpp"
#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

namespace {

constexpr std::uint32_t fork_streams = 8;  // that launches of a fork go round

void add_one(void* counter) { ++*static_cast<unsigned*>(counter); }

class CudaCallRunner final : public Runner<Calls> {
 public:
  explicit CudaCallRunner(int ordinal) : gpu_(ordinal) {
    gpu_.make_current();
    counter_ = Buffer(Memory::device, sizeof(unsigned));
    memory_ = Buffer(Memory::device, MiB);
    word_ = Buffer(Memory::pinned, sizeof(std::uint64_t));
  }

  void prepare(const Step<Calls>& step) override {
    renew();
    case_ = step.question;
    shape_ = step.axes;
    if (is_kernel() && !empty_kernel(shape_.bytes))
      throw Error(ErrorKind::usage, fmt::format("a kernel with {} bytes of arguments: 0, 64, 512 or {} are taken",
                                                shape_.bytes, max_argument_bytes));
    if (case_.call == Call::copy_in) host_.assign(shape_.bytes, std::byte{0x5a});
    if (case_.call == Call::copy_within && copied_.bytes() < 2 * shape_.bytes)
      copied_ = Buffer(Memory::device, 2 * shape_.bytes);
    if (case_.call == Call::default_launches) waiting_.emplace(cudaStreamDefault);
    if (about_graphs()) {
      graph_ = graph_of(empty_kernel(0));
      executable_ = ExecutableGraph(graph_);
      cuda::check(cudaGraphUpload(executable_.get(), stream()), "uploading a graph");
    }
    run_once_ = !frees_memory(case_.call);
  }

  bool run(std::uint64_t repeats, std::vector<CallSample>& samples) override {
    gpu_.make_current();
    const bool moved = quiet_.settle();
    if (quiet_.is_shared()) disturbed_by(Cause::core_shared);
    if (!frees_memory(case_.call) && (moved || std::exchange(run_once_, false)))
      (void)measure(1, empty_kernel(kernel_bytes()));  // nothing is done for the first time
    const CallTimes times = measure(repeats, empty_kernel(kernel_bytes()));
    CallSample sample;
    sample.repeats = repeats;
    sample.host_us = microseconds(times.host);
    if (times.done) sample.done_us = microseconds(*times.done);
    sample.slowed = times.slowed;
    samples.push_back(sample);
    return true;
  }

  // Once more, with kernels that count how often they ran, or with what the call leaves behind.
  std::optional<std::string> check(std::span<CallSample> last_trial) override {
    const auto wrong = compare();
    for (CallSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
    return wrong;
  }

  std::uint64_t max_repeats() const override {
    return frees_memory(case_.call) ? 1 : case_.spacing == Spacing::back_to_back ? 4096 : 0;
  }
  double work() const override { return case_.form == GraphForm::none ? 1 : shape_.nodes; }
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return gpu_.telemetry(); }
  std::string binding() const override { return gpu_.binding() + "; " + quiet_.text(); }

 private:
  // What a stream did before changes what its calls take: a wait for an idle one 0.2 or 2 us, a pair of pool calls 1.1
  // or 2.4 (H200). Every point begins with streams, events and a pool that did nothing.
  void renew() {
    executable_ = {};
    graph_ = {};
    pool_.reset();
    streams_.clear();
    for (std::uint32_t i = 0; i < fork_streams; ++i) streams_.emplace_back();
    first_ = Event();
    second_ = Event();
    first_.record(stream());
    second_.record(stream());
    wait();
  }

  cudaStream_t stream() const { return streams_[0].get(); }
  void wait() const { streams_[0].synchronize(); }
  bool is_kernel() const { return case_.call == Call::launch || case_.call == Call::cooperative_launch; }
  bool about_graphs() const {
    return case_.form != GraphForm::none && case_.call != Call::launches && case_.call != Call::default_launches;
  }
  std::uint64_t kernel_bytes() const { return is_kernel() ? shape_.bytes : 0; }
  unsigned* counter() const { return reinterpret_cast<unsigned*>(counter_.data()); }
  volatile std::uint64_t& word() const { return *reinterpret_cast<volatile std::uint64_t*>(word_.data()); }

  Graph graph_of(const void* kernel) const {
    unsigned* to = counter();
    void* arguments[] = {const_cast<std::byte*>(argument_.data()), &to};
    return graph_of_kernels(kernel, arguments, case_.form, shape_.nodes);
  }

  CallTimes measure(std::uint64_t repeats, const void* kernel) {
    using cuda::check;
    cudaStream_t const s = stream();
    unsigned* to = counter();
    void* arguments[] = {argument_.data(), &to};
    const dim3 grid(shape_.blocks ? shape_.blocks : 1), block(1);
    const auto until_done = [&] { check(cudaStreamSynchronize(s), "waiting for a call"); };
    const auto until_default_done = [] { check(cudaStreamSynchronize(cudaStreamLegacy), "waiting for a call"); };
    const auto time = [&](const auto& call, const auto&... wait_and_tidy) {
      return timed_call(case_.spacing, repeats, call, wait_and_tidy...);
    };
    switch (case_.call) {
      case Call::launch:
        return time([&] { check(cudaLaunchKernel(kernel, grid, block, arguments, 0, s), "launching a kernel"); },
                    until_done);
      case Call::cooperative_launch: {
        constexpr std::string_view what = "launching a cooperative kernel";
        return time([&] { check(cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 0, s), what); },
                    until_done);
      }
      case Call::signal: {
        std::uint64_t value = 0;
        auto* where = reinterpret_cast<std::uint64_t*>(word_.data());
        void* what[] = {&where, &value};
        const auto launch = [&] {
          value = ++signals_;
          check(cudaLaunchKernel(signal_kernel(), grid, block, what, 0, s), "launching a kernel");
        };
        return time(
            launch, [&] { see(value); }, until_done);
      }
      case Call::event_record:
        return time([&] { check(cudaEventRecord(second_.get(), s), "recording an event"); }, until_done);
      case Call::event_wait:
        return time([&] { check(cudaStreamWaitEvent(s, first_.get(), 0), "waiting for an event"); }, until_done);
      case Call::event_elapsed: {
        float ms = 0;
        constexpr std::string_view what = "reading the time between two events";
        return time([&] { check(cudaEventElapsedTime(&ms, first_.get(), second_.get()), what); });
      }
      case Call::stream_synchronize: return time(until_done);
      case Call::callback:
        return time([&] { check(cudaLaunchHostFunc(s, add_one, &called_), "launching a host function"); }, until_done);
      case Call::memset:
        return time([&] { check(cudaMemsetAsync(memory_.data(), set_, shape_.bytes, s), "setting memory"); },
                    until_done);
      case Call::copy_in: return time([&] { copy_in(memory_.data(), host_.data(), shape_.bytes); }, until_default_done);
      case Call::copy_within:
        return time([&] { copy_within(copied_.data(), copied_.data() + shape_.bytes, shape_.bytes); },
                    until_default_done);
      case Call::malloc_free: {
        void* memory = nullptr;
        return time([&] {
          check(cudaMalloc(&memory, shape_.bytes), "allocating device memory");
          check(cudaFree(memory), "freeing device memory");
        });
      }
      case Call::pool_alloc_free: {
        if (!pool_) pool_.emplace(gpu_.ordinal());
        void* memory = nullptr;
        const auto pair = [&] {
          check(cudaMallocFromPoolAsync(&memory, shape_.bytes, pool_->get(), s), "allocating from a pool");
          check(cudaFreeAsync(memory, s), "freeing to a pool");
        };
        return time(pair, until_done);
      }
      case Call::launches: {
        const std::uint32_t streams = case_.form == GraphForm::fork ? std::min(fork_streams, shape_.nodes) : 1;
        const auto launches = [&] {
          for (std::uint32_t i = 0; i < shape_.nodes; ++i)
            check(cudaLaunchKernel(kernel, grid, block, arguments, 0, streams_[i % streams].get()),
                  "launching a kernel");
        };
        return time(launches, [&] {
          for (std::uint32_t i = 0; i < streams; ++i) streams_[i].synchronize();
        });
      }
      case Call::default_launches: {
        const auto launches = [&] {
          for (std::uint32_t i = 0; i < shape_.nodes; ++i)
            check(cudaLaunchKernel(kernel, grid, block, arguments, 0, i % 2 ? cudaStreamLegacy : waiting_->get()),
                  "launching a kernel");
        };
        return time(launches, [&] {
          waiting_->synchronize();
          until_default_done();
        });
      }
      case Call::graph_launch:
        return time([&] { check(cudaGraphLaunch(executable_.get(), s), "launching a graph"); }, until_done);
      case Call::graph_instantiate: {
        cudaGraphExec_t made = nullptr;
        return time([&] { check(cudaGraphInstantiate(&made, graph_.get(), 0), "instantiating a graph"); }, Nothing{},
                    [&] { check(cudaGraphExecDestroy(made), "destroying a graph"); });
      }
      case Call::graph_update: return time([&] { update(graph_); });
      case Call::free:
      case Call::pool_free:
      case Call::pool_trim:
      case Call::managed_free: {
        if (!after_free_) after_free_.emplace(gpu_.ordinal());
        const AfterFree::Seen seen = after_free_->measure(case_.call, shape_.bytes);
        return {seen.host, seen.done, seen.slowed};
      }
      case Call::process_free:
      case Call::process_end: break;  // of older traces
      case Call::function: break;     // has a backend of its own
    }
    throw Error(ErrorKind::usage, title(case_) + ": no such call");
  }

  void update(const Graph& graph) const {
    cudaGraphExecUpdateResultInfo how{};
    cuda::check(cudaGraphExecUpdate(executable_.get(), graph.get(), &how), "updating a graph");
  }

  // Until the host sees the word; gives up after a second.
  void see(std::uint64_t value) const {
    for (std::uint64_t looks = 0; word() != value; ++looks)
      if (looks % (1 << 20) == (1 << 20) - 1 && cudaStreamQuery(stream()) == cudaSuccess && word() != value)
        throw Error(ErrorKind::failed, "signal: the kernel ended, and the host does not see its word");
  }

  std::optional<std::string> compare() {
    using cuda::check;
    wait();
    const auto counted = [&](std::uint64_t wanted) -> std::optional<std::string> {
      unsigned ran = 0;
      check(cudaMemcpyAsync(&ran, counter(), sizeof ran, cudaMemcpyDeviceToHost, stream()), "reading a counter");
      wait();
      if (ran == wanted) return std::nullopt;
      return fmt::format("{} of {} blocks ran", ran, wanted);
    };
    check(cudaMemsetAsync(counter(), 0, sizeof(unsigned), stream()), "clearing a counter");
    wait();
    switch (case_.call) {
      case Call::launch:
      case Call::cooperative_launch:
      case Call::launches:
      case Call::default_launches:
        (void)measure(1, counting_kernel(kernel_bytes()));
        for (const Stream& one : streams_) one.synchronize();
        return counted(case_.form == GraphForm::none ? shape_.blocks : shape_.nodes);
      case Call::graph_launch:
      case Call::graph_instantiate: {
        const Graph graph = graph_of(counting_kernel(0));
        const ExecutableGraph executable(graph);
        check(cudaGraphLaunch(executable.get(), stream()), "launching a graph");
        return counted(shape_.nodes);
      }
      case Call::graph_update: {  // from empty kernels to counting ones, and back
        const Graph counting = graph_of(counting_kernel(0));
        update(counting);
        check(cudaGraphLaunch(executable_.get(), stream()), "launching a graph");
        const auto wrong = counted(shape_.nodes);
        update(graph_);
        return wrong;
      }
      case Call::signal:
        return word() == signals_ ? std::nullopt
                                  : std::optional(fmt::format("the word is {}, not {}", word(), signals_));
      case Call::callback: {
        called_ = 0;
        (void)measure(3, nullptr);
        wait();
        return called_ == 3 ? std::nullopt : std::optional(fmt::format("{} of 3 functions were called", called_));
      }
      case Call::memset:
      case Call::copy_in:
      case Call::copy_within: {
        set_ ^= 0xff;
        std::ranges::fill(host_, std::byte{set_});
        const bool within = case_.call == Call::copy_within;
        if (within) {
          check(cudaMemsetAsync(copied_.data() + shape_.bytes, set_, shape_.bytes, stream()), "setting memory");
          wait();
        }
        (void)measure(1, nullptr);
        std::vector<unsigned char> seen(shape_.bytes);
        check(cudaMemcpyAsync(seen.data(), (within ? copied_ : memory_).data(), seen.size(), cudaMemcpyDeviceToHost,
                              stream()),
              "reading what was left");
        wait();
        const auto wrong = std::find_if(seen.begin(), seen.end(), [&](unsigned char byte) { return byte != set_; });
        if (wrong == seen.end()) return std::nullopt;
        return fmt::format("byte {} of {} is {:#04x}, expected {:#04x}", wrong - seen.begin(), seen.size(), *wrong,
                           set_);
      }
      default: return std::nullopt;  // their result is the return code, which every call was checked for
    }
  }

  Gpu gpu_;
  host::QuietCore quiet_;  // of those that the binding leaves
  std::vector<Stream> streams_;
  std::optional<Stream> waiting_;  // for the default stream
  Event first_, second_;
  Buffer counter_, memory_, word_, copied_;
  std::vector<std::byte> host_;  // pageable
  std::array<std::byte, max_argument_bytes> argument_{};
  std::optional<Pool> pool_;
  std::optional<AfterFree> after_free_;

  CallCase case_;
  CallShape shape_;
  Graph graph_;
  ExecutableGraph executable_;
  std::uint64_t signals_ = 0;
  unsigned called_ = 0;
  unsigned char set_ = 0x5a;
  bool run_once_ = true;
};

class CudaCalls final : public Backend<Calls> {
 public:
  std::string_view name() const override { return "calls"; }
  std::string_view device_kind() const override { return "cuda"; }
  std::string_view summary() const override { return "what calls of the CUDA runtime cost, graphs included"; }
  std::optional<std::string> refuses(const Step<Calls>& step) const override {
    if (step.question.call != Call::cooperative_launch) return std::nullopt;
    int can = 0;
    cuda::check(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, ordinal(step)),
                "asking for cooperative launches");
    return can ? std::nullopt : std::optional<std::string>("this GPU has no cooperative launch");
  }
  MemoryNeed needs(std::span<const Step<Calls>> steps) const override {
    MemoryNeed need{sizeof(std::uint64_t), 2 * MiB};
    for (const auto& step : steps)
      if (step.question.call == Call::malloc_free || step.question.call == Call::pool_alloc_free)
        need.device_bytes = std::max(need.device_bytes, 2 * MiB + step.axes.bytes);
      else if (step.question.call == Call::copy_within)
        need.device_bytes = std::max(need.device_bytes, 2 * MiB + 2 * step.axes.bytes);
      else if (frees_memory(step.question.call))
        need.device_bytes = std::max(need.device_bytes, 2 * GiB + step.axes.bytes);  // and a second process's context
    return need;
  }
  std::unique_ptr<Runner<Calls>> open(std::span<const Step<Calls>> steps) const override {
    return std::make_unique<CudaCallRunner>(ordinal(steps.front()));
  }

 private:
  static int ordinal(const Step<Calls>& step) { return ordinal_or_throw(step.question.device); }
};

}  // namespace

}  // namespace npgpu::cuda

NPGPU_REGISTERED(Backend<npgpu::Calls>, npgpu::cuda::CudaCalls)
