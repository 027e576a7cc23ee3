// compute on a simulated device: chains of FMAs, timed from lanes, schedulers, latency and resident blocks
// (netpipe/devices/simulated/multiprocessors.hpp).
#include "netpipe/devices/simulated/library.hpp"
#include "probes/shapes.hpp"
#include "probes/simulated.hpp"

namespace npgpu {

namespace {

constexpr double steps_of_a_repeat = 256;
constexpr double operations_of_an_fma = 2;

class SimulatedComputeRunner final : public SimulatedRunner {
 public:
  using SimulatedRunner::SimulatedRunner;

 private:
  // A step is one FMA of each chain.
  Repeat one_repeat() const override {
    Repeat repeat;
    repeat.step.latency_cycles = multiprocessors().fma_latency_cycles;
    repeat.step.instructions = shape().ilp;
    repeat.steps = steps_of_a_repeat;
    repeat.work =
        operations_of_an_fma * shape().ilp * steps_of_a_repeat * shape().threads * static_cast<double>(shape().blocks);
    return repeat;
  }
};

class SimulatedCompute final : public SimulatedProbe {
 public:
  std::string_view name() const override { return "compute"; }
  std::string_view summary() const override { return "chains of FMAs on simulated devices; no measurement"; }

  std::vector<Shape> shapes(const ProbeCase& c) const override { return compute_shapes(context(c).layout); }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<SimulatedComputeRunner>(*this, steps);
  }

 private:
  simulated::Need need() const override { return simulated::Need::compute; }
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return {{.probe = "compute", .device = device}};
  }
  Limit limit(const ProbeCase& c) const override {
    const auto m = simulated::multiprocessors_of(simulated::spec_of(c.device));
    return {operations_of_an_fma * m.lanes * m.sms * m.clock_hz, "the spec: 2 * lanes * SMs * clock"};
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_PROBE(npgpu::SimulatedCompute)
