// Jobs cut into CUDA streams, timed whole. The timed region holds the runtime's calls and nothing else: what to call,
// with which pointers and in which stream, is a list made before.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/gate.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/nvml.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "netpipe/devices/host/quiet_core.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "npgpu/job.hpp"
#include "netpipe/jobs/layout.hpp"
#include "netpipe/jobs/words.hpp"

namespace npgpu::cuda {

namespace {

constexpr std::uint64_t word_bytes = sizeof(Word);

// Of the memory workload: a power of two, so that a walk wraps with a mask. Blocks that run together walk through part
// of it only, so that it has to be far larger than the cache: where it was 8 caches, an H200 read it at 5.5 TB/s, which
// is more than its memory gives.
std::uint64_t scratch_bytes(int ordinal) {
  constexpr std::uint64_t caches = 64, least = 64 * MiB, most = 8 * GiB;
  const std::uint64_t memory = inventory().at(static_cast<std::size_t>(ordinal)).memory_bytes;
  return std::clamp(std::min(std::bit_ceil(caches * l2_bytes(ordinal)), std::bit_floor(memory / 8)), least, most);
}

struct BufferSizes {
  std::uint64_t in = 0, out = 0, device = 0, scratch = 0;
};
BufferSizes room_for(int ordinal, std::span<const JobStep> questions) {
  BufferSizes room;
  for (const auto& [c, job] : questions) {
    room.in = std::max(room.in, job.bytes_in);
    room.out = std::max(room.out, job.bytes_out);
    room.device = std::max(room.device, layout_of(c.order, job).device_bytes);
    if (c.workload == Workload::memory) room.scratch = scratch_bytes(ordinal);
  }
  return room;
}

// One asynchronous call of a job.
struct Call {
  Stage part = Stage::h2d;
  std::uint32_t stream = 0;
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  unsigned blocks = 0;
  Launch launch{};
};

// Behind a closed gate nothing may fail and leave it closed: whatever waits for the device would wait for the time-out.
struct OpenAtLast {
  Gate* gate;
  ~OpenAtLast() {
    if (gate) gate->release();
  }
};

class CudaJobRunner final : public Runner<Jobs> {
 public:
  CudaJobRunner(int ordinal, const BufferSizes& room)
      : ordinal_(ordinal),
        bus_(inventory().at(static_cast<std::size_t>(ordinal)).pci_bus_id),
        binding_(host::Binding::near_device(bus_)),
        own_([ordinal] {
          cuda::make_current(ordinal);
          return Stream();
        }()),
        room_(room),
        run_(Memory::device, sizeof(RunWords)),
        told_run_(Memory::pinned, sizeof(RunWords)) {
    std::string why;
    nvml_ = NvmlDevice::find(bus_, why);
    if (room.in) in_ = Buffer(Memory::pinned, room.in);
    if (room.out) out_ = Buffer(Memory::pinned, room.out);
    if (room.device) device_ = Buffer(Memory::device, room.device);
    if (room.scratch) scratch_ = Buffer(Memory::device, room.scratch);
    words_.fill_input(words(in_), room.in / word_bytes, own_.get());
    words_.fill_scratch(words(scratch_), room.scratch / word_bytes, own_.get());
    own_.synchronize();
  }

  void prepare(const JobCase& c, const JobShape& job) override {
    if (const auto why = refuses(c, job)) throw Error(ErrorKind::usage, title(c) + ": " + *why);
    if (c.gating && c.pool == StreamPool::fresh)
      throw Error(ErrorKind::usage, title(c) + ": behind a gate streams are pooled: making them is the host's time");
    const JobLayout layout = layout_of(c.order, job);
    if (job.bytes_in > room_.in || job.bytes_out > room_.out || layout.device_bytes > room_.device ||
        (c.workload == Workload::memory && !room_.scratch))
      throw Error(ErrorKind::usage, title(c) + ": the runner was opened for smaller jobs");
    cuda::make_current(ordinal_);
    case_ = c;
    job_ = job;
    layout_ = layout;
    ready_ = ran_ = false;
    plan_calls();
    const std::uint32_t streams = streams_of(c.order, job);
    if (c.pool == StreamPool::pooled)
      while (pool_.size() < streams) pool_.emplace_back();
    fresh_.reserve(streams);
    handles_.assign(streams, nullptr);
    for (std::uint32_t s = 0; s < streams && c.pool == StreamPool::pooled; ++s) handles_[s] = pool_[s].get();
    if (c.gating) {
      while (ends_.size() < streams) ends_.emplace_back();
      if (!gate_) gate_.emplace();
    }
    words_.spoil(words(out_), job.bytes_out / word_bytes, own_.get());
    own_.synchronize();
    // The driver may load a kernel, or set up a copy of this size, at its first call.
    ready_ = true;
    case_.gating = Gating::open;
    run();
    case_.gating = c.gating;
    run();
    ran_ = false;
  }

  JobTimes run() override {
    if (!ready_) throw Error(ErrorKind::usage, "no job was prepared");
    cuda::make_current(ordinal_);
    // On another core a job took 20 to 30 us longer the first time.
    constexpr int moves = 4;
    for (int i = 0; i < moves && case_.gating != Gating::gated && quiet_.settle(); ++i) run_once();
    JobTimes ran = run_once();
    ran_ = true;
    return ran;
  }

  std::optional<std::string> intact() override {
    if (!ran_) return "nothing has run since this job was prepared";
    cuda::make_current(ordinal_);
    std::vector<std::string> asked;
    const auto compare = [&](const Word* actual, std::uint64_t bytes, const Stretch& stretch, std::string what) {
      words_.compare(actual, count(bytes), stretch, static_cast<std::uint32_t>(asked.size()), own_.get());
      asked.push_back(std::move(what));
    };
    for (std::uint32_t c = 0; c < job_.chunks; ++c) {
      const ChunkPlaces& p = layout_.chunks[c];
      const std::string chunk = fmt::format("chunk {} of {}", c, job_.chunks);
      const Stretch in = stretch_at(p.in_at, &p, nullptr), work = stretch_at(p.work_at, nullptr, &p),
                    all = stretch_at(p.in_at, &p, &p), none = stretch_at(p.out_at, nullptr, nullptr);
      if (case_.order == Order::independent) {
        compare(device_word_at(p.in_at), p.in.bytes, in, "input of " + chunk + " on the device");
        compare(device_word_at(p.work_at), p.work.bytes, work, "the kernel's part of " + chunk);
        compare(device_word_at(p.out_at), p.out.bytes, none, "output of " + chunk + " on the device");
        compare(host_word_at(p.out), p.out.bytes, none, "output of " + chunk + " on the host");
      } else {
        compare(device_word_at(p.in_at), std::max({p.in.bytes, p.work.bytes, p.out.bytes}), all,
                chunk + " on the device");
        compare(host_word_at(p.out), p.out.bytes, all, "output of " + chunk + " on the host");
      }
    }
    const auto wrong = words_.first_wrong(own_.get());
    if (!wrong) return std::nullopt;
    return fmt::format("{}: word {} is not what the job leaves", asked.at(wrong->label), wrong->word);
  }

  const Clock& clock() const override { return steady_clock(); }
  Telemetry telemetry() override { return nvml_ ? nvml_->read() : Telemetry{}; }
  std::string binding() const override { return binding_.text() + "; host times: " + quiet_.text(); }

 private:
  static Word* words(const Buffer& buffer) { return reinterpret_cast<Word*>(buffer.data()); }
  static std::uint32_t count(std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes / word_bytes); }
  Word* device_word_at(std::uint64_t byte) const { return words(device_) + byte / word_bytes; }
  Word* host_word_at(const Piece& out) const { return words(out_) + out.first / word_bytes; }
  const RunWords* run_words() const { return reinterpret_cast<const RunWords*>(run_.data()); }
  // All words that an iteration of the whole job reads of the scratch buffer, in whole lines.
  std::uint32_t stride() const { return count((job_.kernel_bytes + 127) / 128 * 128); }

  Launch launch_of(const ChunkPlaces& p) const {
    return {.words = device_word_at(p.work_at),
            .count = count(p.work.bytes),
            .first = count(p.work.first),
            .iterations = static_cast<std::uint32_t>(job_.iterations),
            .run = run_words(),
            .scratch = words(scratch_),
            .scratch_words = static_cast<std::uint32_t>(room_.scratch / word_bytes),
            .stride = stride()};
  }

  // With the input of one chunk and the kernel of one, where they go there.
  Stretch stretch_at(std::uint64_t at, const ChunkPlaces* in, const ChunkPlaces* work) const {
    Stretch s;
    s.device_first = count(at);
    s.workload = case_.workload;
    s.run = now_;
    if (in) {
      s.in_words = count(in->in.bytes);
      s.in_first = count(in->in.first);
    }
    if (work) s.launch = launch_of(*work);
    return s;
  }

  void plan_calls() {
    calls_.clear();
    std::vector<std::uint64_t> in_stream(streams_of(case_.order, job_));
    for (const Issue& issue : issues_of(case_.order, job_)) {
      const ChunkPlaces& p = layout_.chunks[issue.chunk];
      Call call{.part = issue.part, .stream = issue.stream};
      switch (issue.part) {
        case Stage::h2d:
          call.to = device_word_at(p.in_at);
          call.from = in_.data() + p.in.first;
          call.bytes = p.in.bytes;
          break;
        case Stage::kernel:
          call.launch = launch_of(p);
          call.blocks = (call.launch.count + job_.threads - 1) / job_.threads;
          break;
        case Stage::d2h:
          call.to = out_.data() + p.out.first;
          call.from = device_word_at(p.out_at);
          call.bytes = p.out.bytes;
          break;
      }
      ++in_stream[issue.stream];
      calls_.push_back(call);
    }
    const std::uint64_t most = *std::max_element(in_stream.begin(), in_stream.end());
    constexpr std::uint64_t besides = 4;  // the gate, its event and the wait for it, the end's event
    if (case_.gating && most + besides > Gate::capacity())
      throw Error(ErrorKind::usage, fmt::format("{}: {} calls in one stream, and a gate holds {}", title(case_), most,
                                                Gate::capacity() - besides));
  }

  // Everything as it was before the job, which this run's numbers are not: see overlap_words.hpp.
  void begin_run() {
    fresh_.clear();  // where a run failed
    now_.number = ++runs_;
    now_.factor = 2 * runs_ + 1;
    now_.start += stride() * static_cast<Word>(job_.iterations);
    *reinterpret_cast<RunWords*>(told_run_.data()) = now_;
    check(cudaMemcpyAsync(run_.data(), told_run_.data(), sizeof(RunWords), cudaMemcpyHostToDevice, own_.get()),
          "numbering a run");
    words_.fill_device(words(device_), layout_.device_bytes / word_bytes, now_.number, own_.get());
    for (const ChunkPlaces& p : layout_.chunks)
      if (p.out.bytes) {
        Word* const first = host_word_at(p.out);
        first[0] = first[count(p.out.bytes) - 1] = OverlapWords::spoiled;
      }
    check(cudaDeviceSynchronize(), "waiting before a job");
  }

  JobTimes run_once() {
    begin_run();
    return case_.gating == Gating::gated      ? run_gated()
           : case_.gating == Gating::last_stream_free ? run_one_free()
           : case_.pool == StreamPool::fresh ? run_fresh()
                                             : run_pooled();
  }

  void issue() {
    for (Call& call : calls_) {
      cudaStream_t const stream = handles_[call.stream];
      switch (call.part) {
        case Stage::h2d:
          check(cudaMemcpyAsync(call.to, call.from, call.bytes, cudaMemcpyHostToDevice, stream), "copying a chunk in");
          break;
        case Stage::kernel: {
          void* arguments[] = {&call.launch};
          check(
              cudaLaunchKernel(kernel_of(case_.workload), dim3(call.blocks), dim3(job_.threads), arguments, 0, stream),
              "launching a chunk's kernel");
          break;
        }
        case Stage::d2h:
          check(cudaMemcpyAsync(call.to, call.from, call.bytes, cudaMemcpyDeviceToHost, stream), "copying a chunk out");
          break;
      }
    }
  }

  JobTimes run_pooled() {
    JobTimes ran;
    const Seconds begin = clock().now();
    issue();
    const Seconds issued = clock().now();
    check(cudaDeviceSynchronize(), "waiting for a job");
    ran.host = clock().now() - begin;
    ran.issue = issued - begin;
    return ran;
  }

  JobTimes run_fresh() {
    JobTimes ran;
    const Seconds begin = clock().now();
    for (cudaStream_t& handle : handles_) handle = fresh_.emplace_back().get();
    const Seconds created = clock().now();
    issue();
    const Seconds issued = clock().now();
    check(cudaDeviceSynchronize(), "waiting for a job");
    const Seconds end = clock().now();
    fresh_.clear();
    const Seconds destroying = clock().now() - end, creating = created - begin;
    ran.host = end - begin;
    ran.create = creating;
    ran.destroy = destroying;
    ran.issue = issued - created;
    return ran;
  }

  // The gate stands in the first stream; the others before `end` wait for an event behind it.
  void hold(std::size_t end) {
    gate_->hold(handles_[0]);
    opened_.record(handles_[0]);
    for (std::size_t s = 1; s < end; ++s)
      check(cudaStreamWaitEvent(handles_[s], opened_.get(), 0), "putting a stream behind the gate");
  }

  JobTimes run_gated() {
    JobTimes ran;
    OpenAtLast release{&*gate_};
    hold(handles_.size());
    const Seconds begin = clock().now();
    issue();
    const Seconds issued = clock().now();
    for (std::size_t s = 0; s < handles_.size(); ++s) ends_[s].record(handles_[s]);
    gate_->release();
    check(cudaDeviceSynchronize(), "waiting for a job");
    ran.host = clock().now() - begin;
    ran.issue = issued - begin;
    ran.voided = gate_->timed_out();
    Seconds last{0};
    for (std::size_t s = 0; s < handles_.size(); ++s) last = std::max(last, Event::between(opened_, ends_[s]));
    if (!ran.voided) ran.device = last;
    return ran;
  }

  JobTimes run_one_free() {
    JobTimes ran;
    OpenAtLast release{&*gate_};
    cudaStream_t const free = handles_.back();
    hold(handles_.size() - 1);
    const Seconds begin = clock().now();
    issue();
    const Seconds issued = clock().now();
    while (true) {
      const cudaError_t state = cudaStreamQuery(free);
      const Seconds now = clock().now();
      ran.host = now - begin;
      if (state == cudaSuccess) break;
      if (state != cudaErrorNotReady) check(state, "asking whether a stream has ended");
      if (now - issued > last_stream_free_patience) gate_->release();
    }
    (void)cudaGetLastError();  // which "not ready" stays otherwise
    ran.issue = issued - begin;
    gate_->release();
    check(cudaDeviceSynchronize(), "waiting for a job");
    ran.voided = gate_->timed_out();
    return ran;
  }

  int ordinal_;
  std::string bus_;
  host::Binding binding_;  // before the buffers, which are allocated under it
  host::QuietCore quiet_;  // of those that the binding leaves
  Stream own_;
  BufferSizes room_;
  Buffer in_, out_, device_, scratch_, run_, told_run_;
  OverlapWords words_;
  std::vector<Stream> pool_;
  std::vector<Stream> fresh_;
  std::vector<Event> ends_;
  Event opened_;
  std::optional<Gate> gate_;  // after the pool, in whose first stream it stands
  std::optional<NvmlDevice> nvml_;

  JobCase case_;
  JobShape job_;
  JobLayout layout_;
  std::vector<Call> calls_;
  std::vector<cudaStream_t> handles_;
  RunWords now_;
  Word runs_ = 0;
  bool ready_ = false, ran_ = false;
};

class CudaOverlap final : public Backend<Jobs> {
 public:
  std::string_view kind() const override { return "cuda"; }
  std::vector<DeviceInfo> devices() const override { return inventory(); }
  std::string why_none() const override { return why_no_device(); }
  std::uint64_t cache_bytes(const std::string& device) const override { return l2_bytes(ordinal_or_throw(device)); }
  MemoryNeed needs(const std::string& device, std::span<const JobStep> questions) const override {
    const BufferSizes room = room_for(ordinal_or_throw(device), questions);
    return {room.in + room.out, room.device + room.scratch};
  }
  MemoryNeed available(const std::string& device) const override {
    return {host::free_host_memory(), device_memory(ordinal_or_throw(device)).free_bytes};
  }
  std::unique_ptr<Runner<Jobs>> open(const std::string& device, std::span<const JobStep> questions) const override {
    const int ordinal = ordinal_or_throw(device);
    cuda::make_current(ordinal);
    return std::make_unique<CudaJobRunner>(ordinal, room_for(ordinal, questions));
  }
};

}  // namespace

}  // namespace npgpu::cuda

NPGPU_JOBS(npgpu::cuda::CudaOverlap)
