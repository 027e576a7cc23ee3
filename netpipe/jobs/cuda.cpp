// Jobs in CUDA streams or as a graph, timed whole. The timed region holds the runtime's calls and nothing else: what to
// call, with which pointers and in which stream, is a list made before, and so is a graph of it.
#include <algorithm>
#include <optional>
#include <vector>

#include "netpipe/jobs/cuda_memory.hpp"
#include "netpipe/jobs/cuda_runner.hpp"
#include "netpipe/jobs/runner.hpp"

namespace npgpu::cuda {

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
