// bandwidth on a simulated device: every thread's load takes the memory's latency, an SM has its way to memory, the
// bus moves whole transactions at its rate (netpipe/devices/simulated/multiprocessors.hpp). No caches.
#include <algorithm>

#include "netpipe/devices/simulated/library.hpp"
#include "probes/shapes.hpp"
#include "probes/simulated.hpp"

namespace npgpu {

namespace {

struct Traffic {
  double loads = 0, stores = 0;  // of one element
};
Traffic traffic_of(Operation operation) {
  switch (operation) {
    case Operation::read:
      return {1, 0};
    case Operation::write:
      return {0, 1};
    case Operation::triad:
      return {2, 1};
    default:
      return {1, 1};  // rmw, copy
  }
}

class SimulatedBandwidthRunner final : public SimulatedRunner {
 public:
  SimulatedBandwidthRunner(const Probe& probe, std::span<const ProbeStep> steps) : SimulatedRunner(probe, steps) {
    device().take(max_bytes());
  }
  ~SimulatedBandwidthRunner() override { device().give_back(max_bytes()); }

 private:
  // A step is `ilp` accesses of each thread, and a repeat is one step: where the grid is as large as the array, the
  // array once. A warp's accesses lie side by side, in whole transactions.
  Repeat one_repeat() const override {
    const auto& m = multiprocessors();
    const Traffic traffic = traffic_of(question().operation);
    const double moves = traffic.loads + traffic.stores;
    const double access = shape().access_bytes, ilp = shape().ilp;
    const std::uint32_t warps = shape().threads / simulated::warp_threads,
                        left = shape().threads % simulated::warp_threads;
    const auto on_bus = [&](std::uint32_t threads) {
      return threads ? std::max(threads * access, m.transaction_bytes) : 0;
    };

    Repeat repeat;
    repeat.step.latency_cycles = traffic.loads > 0 ? m.memory_latency_cycles : 0;  // nobody waits for a store
    repeat.step.instructions = moves * ilp;
    repeat.step.block_bytes = moves * ilp * access * shape().threads;
    repeat.step.block_bus_bytes = moves * ilp * (warps * on_bus(simulated::warp_threads) + on_bus(left));
    repeat.work = repeat.step.block_bytes * static_cast<double>(shape().blocks);
    return repeat;
  }
};

class SimulatedBandwidth final : public SimulatedProbe {
 public:
  std::string_view name() const override { return "bandwidth"; }
  std::string_view summary() const override { return "reads and writes on simulated devices; no measurement"; }

  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& shape) const override {
    if (shape.access_bytes == 0) return "accesses of 0 bytes";
    return SimulatedProbe::refuses_shape(c, shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return bandwidth_shapes(context(c).layout, c.form); }
  MemoryNeed needs(std::span<const ProbeStep> steps) const override { return {0, max_bytes_of(steps)}; }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<SimulatedBandwidthRunner>(*this, steps);
  }

 private:
  simulated::Need need() const override { return simulated::Need::memory; }
  std::vector<ProbeCase> questions(const std::string& device) const override {
    std::vector<ProbeCase> all;
    const auto add = [&](Operation operation, Form form) {
      all.push_back(
          {.probe = "bandwidth", .device = device, .operation = operation, .form = form, .space = Space::global});
    };
    add(Operation::rmw, Form::streaming);
    add(Operation::rmw, Form::dependent);
    for (const Operation operation : {Operation::read, Operation::write, Operation::copy, Operation::triad})
      add(operation, Form::streaming);
    return all;
  }
  Limit limit(const ProbeCase& c) const override { return devices::find(c.device).memory; }
};

}  // namespace

}  // namespace npgpu

NPGPU_PROBE(npgpu::SimulatedBandwidth)
