// Calls of OpenCL, timed. A call has the name of what it is called in CUDA; docs/opencl.md says which function it is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "netpipe/calls/timed.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/devices/opencl/handles.hpp"
#include "netpipe/devices/opencl/inventory.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::opencl {

namespace {

constexpr std::uint32_t fork_queues = 8;  // that launches of a fork go round
constexpr std::uint64_t set_bytes = MiB;  // of the memory that is set
constexpr std::array<std::uint64_t, 4> argument_bytes{0, 64, 512, 4000};

// Kernels with so many bytes of arguments besides the counter. The empty ones leave it alone.
std::string source_of(std::uint64_t bytes) {
  const std::string payload = bytes ? fmt::format("struct payload {{ uint x[{}]; }};", bytes / 4) : "";
  const std::string more = bytes ? ", struct payload p" : "";
  return payload + "kernel void nothing(global uint* counter" + more + ") {}" +
         "kernel void count(global uint* counter" + more + ") { if (get_local_id(0) == 0) atomic_inc(counter); }";
}

bool is_offered(Call call) {
  switch (call) {
    case Call::launch:
    case Call::event_record:
    case Call::event_wait:
    case Call::event_elapsed:
    case Call::stream_synchronize:
    case Call::memset:
    case Call::malloc_free:
    case Call::launches: return true;
    default: return false;
  }
}

class OpenclCallRunner final : public Runner<Calls> {
 public:
  explicit OpenclCallRunner(const std::string& id)
      : context_(context_on(id)),
        binding_(binding_near(id)),
        counter_(*context_, sizeof(cl_uint)),
        memory_(*context_, set_bytes) {
    if (text_fact(find_or_throw(id).info.facts, "device_type") != "CPU") quiet_.emplace();
  }

  void prepare(const Step<Calls>& step) override {
    case_ = step.question;
    shape_ = step.axes;
    queues_.clear();  // every point begins with queues that did nothing
    const bool profiling = case_.call == Call::event_elapsed;
    for (std::uint32_t i = 0; i < fork_queues; ++i) queues_.emplace_back(*context_, profiling);
    for (Event* event : {&first_, &second_}) record(*event);
    queues_[0].finish();
    run_once_ = true;
  }

  bool run(std::uint64_t repeats, std::vector<CallSample>& samples) override {
    bool moved = false;
    if (quiet_) {
      moved = quiet_->settle();
      if (quiet_->is_shared()) disturbed_by(Cause::core_shared);
    }
    if (moved || std::exchange(run_once_, false)) (void)measure(1, kernel("nothing"));
    const CallTimes times = measure(repeats, kernel("nothing"));
    CallSample sample;
    sample.repeats = repeats;
    sample.host_us = microseconds(times.host);
    if (times.done) sample.done_us = microseconds(*times.done);
    samples.push_back(sample);
    return true;
  }

  // Once more, with kernels that count how often they ran, or with what the call leaves behind.
  std::optional<std::string> check(std::span<CallSample> last_trial) override {
    const auto wrong = compare();
    for (CallSample& sample : last_trial) sample.intact = wrong ? 0 : 1;
    return wrong;
  }

  std::uint64_t max_repeats() const override { return case_.spacing == Spacing::back_to_back ? 1024 : 0; }
  double work() const override { return case_.form == GraphForm::none ? 1 : shape_.nodes; }
  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return devices::telemetry(context_->id); }
  std::string binding() const override { return binding_.text() + (quiet_ ? "; " + quiet_->text() : ""); }

 private:
  cl_command_queue queue() const { return queues_[0].get(); }
  std::uint64_t kernel_bytes() const { return case_.call == Call::launch ? shape_.bytes : 0; }

  const Kernel& kernel(const char* name) {
    const std::uint64_t bytes = kernel_bytes();
    auto& made = kernels_[{bytes, name}];
    if (!made) {
      made.emplace(Program(*context_, source_of(bytes)).kernel(name));
      const std::vector<std::byte> payload(bytes);
      const cl_mem counter = counter_.get();
      opencl::check(library().clSetKernelArg(made->get(), 0, sizeof counter, &counter), "clSetKernelArg");
      if (bytes) opencl::check(library().clSetKernelArg(made->get(), 1, bytes, payload.data()), "clSetKernelArg");
    }
    return *made;
  }
  void record(Event& event) const {
    opencl::check(library().clEnqueueMarkerWithWaitList(queue(), 0, nullptr, event.into()),
                  "clEnqueueMarkerWithWaitList");
  }
  void launch(const Kernel& kernel, std::uint32_t blocks, const Queue& where) const {
    const std::size_t global = blocks, local = 1;
    opencl::check(
        library().clEnqueueNDRangeKernel(where.get(), kernel.get(), 1, nullptr, &global, &local, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  }

  CallTimes measure(std::uint64_t repeats, const Kernel& kernel) {
    const Library& l = library();
    const auto until_done = [&] { queues_[0].finish(); };
    const auto time = [&](const auto& call, const auto&... wait) {
      return timed_call(case_.spacing, repeats, call, wait...);
    };
    switch (case_.call) {
      case Call::launch: {
        const std::uint32_t blocks = shape_.blocks ? shape_.blocks : 1;
        return time([&] { launch(kernel, blocks, queues_[0]); }, until_done);
      }
      case Call::event_record: return time([&] { record(second_); }, until_done);
      case Call::event_wait: {
        const cl_event happened = first_.get();
        const auto wait = [&] {
          opencl::check(l.clEnqueueMarkerWithWaitList(queue(), 1, &happened, nullptr), "clEnqueueMarkerWithWaitList");
        };
        return time(wait, until_done);
      }
      case Call::event_elapsed:
        return time([&] {
          if (!profiled(first_, second_))
            throw Error(ErrorKind::failed,
                        "event-elapsed: the driver of " + context_->id + " has no times of its events");
        });
      case Call::stream_synchronize: return time(until_done);
      case Call::memset: {
        const auto fill = [&] {
          opencl::check(
              l.clEnqueueFillBuffer(queue(), memory_.get(), &set_, sizeof set_, 0, shape_.bytes, 0, nullptr, nullptr),
              "clEnqueueFillBuffer");
        };
        return time(fill, until_done);
      }
      case Call::malloc_free: return time([&] { (void)Buffer(*context_, shape_.bytes); });
      case Call::launches: {
        const std::uint32_t queues = case_.form == GraphForm::fork ? std::min(fork_queues, shape_.nodes) : 1;
        const auto launches = [&] {
          for (std::uint32_t i = 0; i < shape_.nodes; ++i) launch(kernel, 1, queues_[i % queues]);
          if (queues > 1)
            for (std::uint32_t i = 0; i < queues; ++i) queues_[i].flush();
        };
        return time(launches, [&] {
          for (std::uint32_t i = 0; i < queues; ++i) queues_[i].finish();
        });
      }
      default: break;
    }
    throw Error(ErrorKind::usage, title(case_) + ": no such call");
  }

  std::optional<std::string> compare() {
    const Library& l = library();
    const auto read = [&](const Buffer& from, void* to, std::uint64_t bytes) {
      opencl::check(l.clEnqueueReadBuffer(queue(), from.get(), CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
                    "reading what a call left");
    };
    if (case_.call == Call::launch || case_.call == Call::launches) {
      const cl_uint zero = 0;
      opencl::check(
          l.clEnqueueWriteBuffer(queue(), counter_.get(), CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, nullptr),
          "clearing a counter");
      (void)measure(1, kernel("count"));
      cl_uint ran = 0;
      read(counter_, &ran, sizeof ran);
      const std::uint32_t wanted = case_.form == GraphForm::none ? shape_.blocks : shape_.nodes;
      return ran == wanted ? std::nullopt : std::optional(fmt::format("{} of {} blocks ran", ran, wanted));
    }
    if (case_.call != Call::memset) return std::nullopt;  // its result is the return code, which was checked
    set_ = ~set_;
    (void)measure(1, kernel("nothing"));
    std::vector<cl_uint> seen(shape_.bytes / sizeof(cl_uint));
    read(memory_, seen.data(), seen.size() * sizeof(cl_uint));
    const auto wrong = std::ranges::find_if(seen, [&](cl_uint word) { return word != set_; });
    if (wrong == seen.end()) return std::nullopt;
    return fmt::format("word {} of {} is {:#010x}, expected {:#010x}", wrong - seen.begin(), seen.size(), *wrong, set_);
  }

  std::shared_ptr<const Context> context_;
  host::Binding binding_;
  std::optional<host::QuietCore> quiet_;  // of those that the binding leaves
  std::vector<Queue> queues_;
  Event first_, second_;
  Buffer counter_, memory_;
  std::map<std::pair<std::uint64_t, std::string>, std::optional<Kernel>> kernels_;  // by argument and name
  CallCase case_;
  CallShape shape_;
  cl_uint set_ = 0x5a5a5a5a;
  bool run_once_ = true;
};

class OpenclCalls final : public Backend<Calls> {
 public:
  std::string_view name() const override { return "calls"; }
  std::string_view device_kind() const override { return "opencl"; }
  std::string_view summary() const override { return "what calls of OpenCL cost"; }
  std::optional<std::string> refuses(const Step<Calls>& step) const override {
    const Call call = step.question.call;
    if (!is_offered(call)) return fmt::format("OpenCL has no call like {}", npgpu::name(call));
    const Found& found = find_or_throw(step.question.device);
    if (call == Call::launch) {
      if (std::ranges::find(argument_bytes, step.axes.bytes) == argument_bytes.end())
        return "kernels take 0, 64, 512 or 4000 bytes of arguments";
      const std::size_t most = value_of<std::size_t>(found.device, CL_DEVICE_MAX_PARAMETER_SIZE).value_or(256);
      if (step.axes.bytes + sizeof(cl_mem) > most)
        return fmt::format("a kernel of this device takes {} bytes of arguments", most);
    }
    if (call == Call::memset && step.axes.bytes > set_bytes) return "memory of up to 1 MiB is set";
    return std::nullopt;
  }
  MemoryNeed needs(std::span<const Step<Calls>> steps) const override {
    MemoryNeed need{0, 2 * MiB};
    for (const auto& step : steps)
      if (step.question.call == Call::malloc_free)
        need.device_bytes = std::max(need.device_bytes, 2 * MiB + step.axes.bytes);
    return need;
  }
  std::unique_ptr<Runner<Calls>> open(std::span<const Step<Calls>> steps) const override {
    return std::make_unique<OpenclCallRunner>(steps.front().question.device);
  }
};

}  // namespace

}  // namespace npgpu::opencl

NPGPU_REGISTERED(Backend<npgpu::Calls>, npgpu::opencl::OpenclCalls)
