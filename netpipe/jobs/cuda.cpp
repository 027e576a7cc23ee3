// Jobs in CUDA streams or as a graph, timed whole, and their memory on one GPU: what a run finds there, and what it
// must leave. The timed region holds the runtime's calls and nothing else: what to call, with which pointers and in
// which stream, is a list made before, and so is a graph of it.

#include <fmt/format.h>

#include <bit>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/jobs/cuda_runner.hpp"
#include "netpipe/jobs/workload_kernels.hpp"

namespace npgpu::cuda {

inline Word* words(std::byte* bytes) { return reinterpret_cast<Word*>(bytes); }
inline Buffer buffer(Memory kind, std::uint64_t bytes) { return bytes ? Buffer(kind, bytes) : Buffer(); }

// A power of two, so that a walk wraps with a mask. Blocks that run together walk through a part of it only, so that it
// has to be far larger than the cache: where it was 8 caches, an H200 read it at 5.5 TB/s, which is more than its
// memory gives.
inline std::uint64_t scratch_bytes(int ordinal) {
  constexpr std::uint64_t caches = 64, least = 64 * MiB, most = 8 * GiB;
  return std::clamp(
      std::min(std::bit_ceil(caches * l2_bytes(ordinal)), std::bit_floor(info_of(ordinal).memory_bytes / 8)), least,
      most);
}

inline BufferSizes sizes_for(int ordinal, std::span<const JobStep> steps) {
  return npgpu::sizes_for(steps, [=] { return scratch_bytes(ordinal); });
}

class JobMemory : public LaidOutJob {
 public:
  // On the current device; its own work goes through `stream`, which must outlive it.
  JobMemory(const BufferSizes& sizes, cudaStream_t stream)
      : LaidOutJob(sizes),
        stream_(stream),
        in_(buffer(Memory::pinned, sizes.in)),
        out_(buffer(Memory::pinned, sizes.out)),
        device_(buffer(Memory::device, sizes.device)),
        scratch_(buffer(Memory::device, sizes.scratch)),
        run_(Memory::device, sizeof(RunWords)),
        host_run_(Memory::pinned, sizeof(RunWords)) {
    fill(words(in_.data()), sizes.in / word_bytes, Fill::input, stream_);
    fill(words(scratch_.data()), sizes.scratch / word_bytes, Fill::scratch, stream_);
    check(cudaStreamSynchronize(stream_), "filling the memory of jobs");
  }
  // Every following run is of this job. Throws Error(usage) where the buffers are too small.
  void lay_out(const JobStep& step) {
    take(step);
    fill(words(out_.data()), job_.bytes_out / word_bytes, Fill::spoiled, stream_);
    check(cudaStreamSynchronize(stream_), "spoiling the output");
  }
  // Everything as it was before the job, with this run's numbers (see workload_kernels.hpp). Returns when the device is
  // idle.
  void begin_run() {
    *reinterpret_cast<RunWords*>(host_run_.data()) = next_run();
    check(cudaMemcpyAsync(run_.data(), host_run_.data(), sizeof(RunWords), cudaMemcpyHostToDevice, stream_),
          "numbering a run");
    fill(words(device_.data()), layout_.device_bytes / word_bytes, Fill::device, stream_, now_.number);
    spoil_ends([this](const ChunkPlaces& p) { return words(host_output(p)); });
    check(cudaDeviceSynchronize(), "waiting before a job");
  }
  // Compares what the last run left: nothing if it is right, otherwise one sentence.
  std::optional<std::string> wrong_result() {
    const std::vector<Left> all = left();
    for (std::uint32_t label = 0; label < all.size(); ++label) {
      const Left& one = all[label];
      words_.compare(words((one.on_host ? out_ : device_).data() + one.at), words_of(one.bytes), stretch_of(one), label,
                     stream_);
    }
    const auto wrong = words_.first_wrong(stream_);
    if (!wrong) return std::nullopt;
    return wrong_text(all.at(wrong->label), wrong->word);
  }
  std::byte* host_input(const ChunkPlaces& p) const { return in_.data() + p.in.first; }
  std::byte* host_output(const ChunkPlaces& p) const { return out_.data() + p.out.first; }
  std::byte* on_device(std::uint64_t byte) const { return device_.data() + byte; }
  Launch launch_of(const ChunkPlaces& p) const {
    return {.words = words(on_device(p.work_at)),
            .count = words_of(p.work.bytes),
            .first = words_of(p.work.first),
            .iterations = static_cast<std::uint32_t>(job_.iterations),
            .run = reinterpret_cast<const RunWords*>(run_.data()),
            .scratch = words(scratch_.data()),
            .scratch_words = words_of(sizes_.scratch),
            .stride = stride()};
  }

 private:
  Stretch stretch_of(const Left& one) const {
    Stretch s;
    s.device_first = words_of(one.device_first);
    s.workload = case_.workload;
    s.run = now_;
    if (one.in) {
      s.in_words = words_of(one.in->in.bytes);
      s.in_first = words_of(one.in->in.first);
    }
    if (one.work) s.launch = launch_of(*one.work);
    return s;
  }

  cudaStream_t stream_;
  Buffer in_, out_, device_, scratch_;
  Buffer run_, host_run_;  // the run's numbers, where kernels read them and where the host writes them
  JobWords words_;
};

namespace {

std::vector<Call> calls_of(const JobStep& step, const JobMemory& memory) {
  std::vector<Call> calls;
  for (const Issue& issue : issues_of(step.question.order, step.axes)) {
    const ChunkPlaces& p = memory.chunk(issue.chunk);
    calls.push_back(
        issue.stage == Stage::kernel ? Call::launching(issue.stream, kernel_of(step.question.workload),
                                                       words_of(p.work.bytes), step.axes.threads, memory.launch_of(p))
        : issue.stage == Stage::h2d  ? Call::copying(issue.stream, memory.on_device(p.in_at), memory.host_input(p),
                                                     p.in.bytes, cudaMemcpyHostToDevice)
                                     : Call::copying(issue.stream, memory.host_output(p), memory.on_device(p.out_at),
                                                     p.out.bytes, cudaMemcpyDeviceToHost));
  }
  return calls;
}

// Most calls in one stream.
std::uint64_t deepest_stream(const JobStep& step) {
  std::vector<std::uint64_t> calls(streams_of(step.question.order, step.axes));
  for (const Issue& issue : issues_of(step.question.order, step.axes)) ++calls[issue.stream];
  return *std::max_element(calls.begin(), calls.end());
}

class CudaJobRunner final : public CudaRunner<JobRunner> {
 public:
  CudaJobRunner(const Backend<Jobs>& backend, int ordinal, std::span<const JobStep> steps)
      : CudaRunner(backend, ordinal), memory_(sizes_for(ordinal, steps), own_.get()) {}

 private:
  void set_up() override {
    gpu_.make_current();
    memory_.lay_out(step());
    parts_.clear();
    parts_.push_back({.calls = calls_of(step(), memory_)});
    // The driver may load a kernel, or set up a copy of this size, at its first call, which must not stand behind a
    // gate.
    JobCase open = question();
    open.gating = Gating::open;
    open.issue = Issuing::streams;
    for (const JobCase& c : {open, question()}) {
      streams_.prepare(c, streams_of(c.order, job()));
      if (c.issue == Issuing::graph) streams_.capture(parts_.front().calls);
      run_once();
    }
  }
  std::optional<JobSample> run_once() override {
    memory_.begin_run();
    return streams_.run(parts_);
  }
  std::optional<std::string> wrong_result() override {
    gpu_.make_current();
    return memory_.wrong_result();
  }

  JobMemory memory_;
};

class CudaJobs final : public CudaBackend<Jobs, CudaJobRunner> {
 public:
  std::string_view name() const override { return "jobs"; }
  std::string_view summary() const override { return "jobs in CUDA streams, timed whole"; }
  std::optional<std::string> refuses(const JobStep& step) const override {
    if (auto why = npgpu::refuses(step)) return why;
    if (auto why = why_not_there(step.question.device)) return why;
    if (step.question.gating == Gating::open) return std::nullopt;
    const std::uint64_t most = deepest_stream(step);
    if (most <= JobStreams::max_calls_behind_gate()) return std::nullopt;
    return fmt::format("{} calls in one stream, and a gate holds {}", most, JobStreams::max_calls_behind_gate());
  }
  MemoryNeed needs(std::span<const JobStep> steps) const override {
    if (steps.empty()) return {};
    const BufferSizes sizes = sizes_for(ordinal_or_throw(steps.front().question.device), steps);
    return {sizes.in + sizes.out, sizes.device + sizes.scratch};
  }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Backend<npgpu::Jobs>, npgpu::cuda::CudaJobs)
