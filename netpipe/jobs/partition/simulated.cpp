// The partition method on a simulated device: its stages played by the simulator with the costs of the spec, on the
// device's manual clock. The exact truth is known for all that is measured of it.
//
// A thread of a kernel takes a step for each row of its sub-system: it loads the row's four numbers, and in stage 3
// writes one; all of them reach hardware.partition_gb_s, twice the rate of d2d where it is not given. The host takes
// hardware.interface_row_us for each row of the interface system.
#include <fmt/format.h>

#include "netpipe/jobs/partition/runner.hpp"
#include "netpipe/jobs/simulated_runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::partition {

namespace {

constexpr const char* interface_key = "interface_row_us";
constexpr std::uint32_t threads = 256;

class SimulatedPartitionRunner final : public SimulatedRunner<PartitionRunner> {
 public:
  SimulatedPartitionRunner(const Backend<Partitions>& backend, const std::string& id) : SimulatedRunner(backend, id) {
    costs_.stream_create = Seconds{0};  // they are there already
    if (const double own = number_fact(device_->spec().hardware, "partition_gb_s"); own > 0)
      multiprocessors_.bus_bytes_per_s = own * 1e9;
  }

 private:
  void set_up() override {
    Pipeline pipeline = partition_pipeline(question().type, shape());
    pipeline.front().host = 2.0 * static_cast<double>(sub_systems_of(shape())) * device_->spec().time(interface_key);
    for (PipelinePart& part : pipeline)
      for (PipelineStage& stage : part.stages)
        if (stage.stage == Stage::kernel) stage.kernel.of_fraction = kernel_of(stage.name);
    stage2_ = pipeline.front().host;
    times_ = {};
    if (question().timed == PartitionTiming::whole) {
      total_ = simulator_.run(pipeline, shape().chunks, costs_, partition_order, shape().streams).total;
    } else {
      times_ = {stages_of_part(pipeline[0]), stages_of_part(pipeline[1])};
      total_ = times_[0].sum() + stage2_ + times_[1].sum();
    }
    result_.poison();
  }

  Curve kernel_of(const std::string& name) const {
    const double moves = name == "stage3" ? 5 : 4;
    const double bytes = moves * static_cast<double>(bytes_of(question().type)) * threads;
    const simulated::WarpStep row{multiprocessors_.memory_latency_cycles, moves, bytes, bytes};
    return over_parts(sub_systems_of(shape()), shape().chunks, [&](std::uint64_t systems) {
      return kernel_time((systems + threads - 1) / threads, threads, row, shape().sub_system);
    });
  }

  // Behind a gate in one stream: what each sort of stage takes of the device, gaps and latencies included, as events
  // between them show it.
  Stages stages_of_part(const PipelinePart& part) const {
    model::Chunks chunk;
    Stages sum;
    const auto stages = model::stages_of(part, shape().chunks, costs_, chunk);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const auto& [stage, time, issue, share] = stages[i];
      Seconds one = Seconds{time} + costs_.gap.of(stage);
      if (i > 0 && stages[i - 1].stage != stage) one += costs_.latency.of(stages[i - 1].stage);
      (stage == Stage::h2d ? sum.h2d : stage == Stage::kernel ? sum.kernel : sum.d2h) += shape().chunks * one;
    }
    return sum;
  }

  std::optional<PartitionSample> launch() override {
    const double factor = result_.run(Seconds{0}, Seconds{0}, total_);
    std::array<Stages, 2> times = times_;
    for (Stages& one : times)
      for (Seconds* time : {&one.h2d, &one.kernel, &one.d2h}) *time *= factor;
    return sample_of(total_ * factor, stage2_ * factor, times);
  }

  Seconds total_{0}, stage2_{0};
  std::array<Stages, 2> times_{};
};

class SimulatedPartitions final : public SimulatedBackend<Partitions, SimulatedPartitionRunner> {
 public:
  std::string_view name() const override { return "partition"; }
  std::string_view summary() const override { return "tridiagonal partition method, played by the simulator"; }
  std::optional<std::string> refuses(const PartitionStep& step) const override {
    if (auto why = npgpu::refuses(step)) return why;
    const simulated::Spec spec = simulated::spec_of(step.question.device);
    if (!find_fact(spec.hardware, interface_key))
      return fmt::format("its spec does not say what the interface system costs the host: hardware.{} is missing",
                         interface_key);
    return simulated::why_no_kernels(spec, simulated::Need::memory);
  }
  MemoryNeed needs(std::span<const PartitionStep> steps) const override {
    MemoryNeed need;
    for (const std::uint64_t bytes : buffer_bytes(steps)) need.device_bytes += bytes;
    return need;
  }
};

}  // namespace

}  // namespace npgpu::partition

NPGPU_REGISTERED(Backend<npgpu::Partitions>, npgpu::partition::SimulatedPartitions)
