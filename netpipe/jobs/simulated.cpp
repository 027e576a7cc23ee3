// Jobs in streams on a simulated device: the discrete-event simulator with the costs of the spec, on the device's
// manual clock. The exact truth is known for all that is measured of it and derived from that.
//
// A trial's noise is on all of its times, that of single copies on their bytes. A gated job waits behind a gate of the
// device, which holds as many calls as any other and may time out.
#include <fmt/format.h>

#include "netpipe/jobs/runner.hpp"
#include "netpipe/jobs/simulated_runner.hpp"

namespace npgpu {

namespace {

// One iteration of a kernel, in steps that wait for each other: a read-modify-write in memory, a load, or eight times a
// multiply-add in each of four chains. No caches.
struct Iteration {
  simulated::WarpStep step;
  double steps = 1;
};
Iteration iteration_of(Workload workload, const simulated::Multiprocessors& m, std::uint32_t threads) {
  if (workload == Workload::compute) return {{.latency_cycles = m.fma_latency_cycles, .instructions = 4}, 8};
  const double moves = workload == Workload::increment ? 2 : 1,
               bytes = moves * static_cast<double>(word_bytes) * threads;
  return {{m.memory_latency_cycles, moves, bytes, bytes}, 1};
}

// Which keys of the spec this kernel needs and are missing.
std::optional<std::string> why_no_kernel(const simulated::Spec& spec, Workload workload) {
  if (workload == Workload::none) return std::nullopt;
  return simulated::why_no_kernels(spec,
                                   workload == Workload::compute ? simulated::Need::compute : simulated::Need::memory);
}

class SimulatedJobRunner final : public SimulatedRunner<JobRunner> {
 public:
  SimulatedJobRunner(const Backend<Jobs>& backend, const std::string& id)
      : SimulatedRunner(backend, id), destroy_(device_->spec().time("stream_destroy_us")) {
    if (noise_of_copies()) simulator_.scatter([this] { return device_->operation_noise(); });
  }

 private:
  bool noise_of_copies() const { return device_->spec().noise.operation_sigma > 0; }
  bool gated() const { return question().gating == Gating::gated; }
  void set_up() override {
    simulated_ = {.in_bytes = job().bytes_in, .out_bytes = job().bytes_out};
    if (question().workload != Workload::none) set_kernel();
    charged_ = costs_;
    if (question().pool == StreamPool::pooled) charged_.stream_create = Seconds{0};
    if (question().issue == Issuing::graph) {
      const simulated::Spec& spec = device_->spec();
      const Seconds node = spec.time("graph_fork_kernel_us");
      charged_.graph_launch = spec.time("call_graph_launch_us");
      charged_.issue = {node, node, node};
      charged_.issue_h2d = charged_.issue_kernel = charged_.issue_d2h = {};
    }
    const std::vector<Issue> calls = issues_of(question().order, job());
    calls_ = calls.size();
    issue_ = charged_.graph_launch;
    for (const Issue& call : calls) issue_ += charged_.issue.of(call.stage);
    if (gated()) {
      charged_.issue = {};
      charged_.issue_h2d = charged_.issue_kernel = charged_.issue_d2h = {};
      charged_.submit = Seconds{0};
    }
    total_ = play();
    if (gated() && !gate_) gate_.emplace(device_);
    result_.poison();
  }
  std::optional<JobSample> launch() override {
    if (noise_of_copies()) total_ = play();
    const Seconds begin = device_->clock().now();
    if (gated()) gate_->hold();
    const double factor = result_.run(gated() ? issue_ : Seconds{0}, Seconds{0}, total_, gated() ? &*gate_ : nullptr);
    JobSample sample;
    sample.host_us = microseconds(device_->clock().now() - begin);
    sample.issue_us = microseconds(issue_ * factor);
    if (gated()) {
      if (gate_->timed_out() || calls_ > device_->spec().host.gate_capacity) return std::nullopt;
      sample.device_us = microseconds(total_ * factor);
    }
    if (question().pool == StreamPool::fresh) {
      const double streams = streams_of(question().order, job());
      sample.create_us = microseconds(costs_.stream_create * streams * factor);
      sample.destroy_us = microseconds(destroy_ * streams * factor);
    }
    return sample;
  }
  void set_kernel() {
    const Iteration one = iteration_of(question().workload, multiprocessors_, job().threads);
    // One without iterations comes and goes in a step.
    const double steps = job().iterations ? one.steps * static_cast<double>(job().iterations) : 1;
    const auto time = [&](std::uint64_t blocks) { return kernel_time(blocks, job().threads, one.step, steps); };
    simulated_.blocks = blocks_of(job());
    const std::uint32_t warps = (job().threads + simulated::warp_threads - 1) / simulated::warp_threads;
    simulated_.slots =
        std::uint64_t{multiprocessors_.sms} * std::min(multiprocessors_.blocks, multiprocessors_.warps / warps);
    simulated_.kernel = time(simulated_.blocks);
    simulated_.kernel_of_fraction = over_parts(simulated_.blocks, job().chunks, time);
  }
  Seconds play() {
    const bool held = question().gating == Gating::last_stream_free;
    simulator_.hold_others(held ? issue_ + last_stream_free_patience : Seconds{0});
    return simulator_
        .run(simulated_, job().chunks, charged_, question().order, nullptr, std::min(job().streams, job().chunks))
        .total;
  }

  std::optional<simulated::Stream> gate_;
  StreamCosts charged_;  // of this job
  Seconds destroy_;
  Job simulated_;
  Seconds total_{0}, issue_{0};
  std::uint64_t calls_ = 0;
};

class SimulatedJobs final : public SimulatedBackend<Jobs, SimulatedJobRunner> {
 public:
  std::string_view name() const override { return "jobs"; }
  std::string_view summary() const override { return "jobs in streams, played by the simulator; no measurement"; }
  std::optional<std::string> refuses(const JobStep& step) const override {
    if (auto why = npgpu::refuses(step)) return why;
    const simulated::Spec spec = simulated::spec_of(step.question.device);
    if (step.question.issue == Issuing::graph)
      for (const char* key : {"call_graph_launch_us", "graph_fork_kernel_us"})
        if (!find_fact(spec.hardware, key))
          return fmt::format("its spec does not say what graphs cost: hardware.{} is missing", key);
    return why_no_kernel(spec, step.question.workload);
  }
  // Nothing is allocated; a device that is too small for a job still says so.
  MemoryNeed needs(std::span<const JobStep> steps) const override {
    MemoryNeed most;
    for (const auto& [question, job] : steps)
      most.device_bytes = std::max(most.device_bytes, job.bytes_in + job.bytes_out + job.kernel_bytes);
    return most;
  }
};

}  // namespace
}  // namespace npgpu

NPGPU_REGISTERED(Backend<npgpu::Jobs>, npgpu::SimulatedJobs)
