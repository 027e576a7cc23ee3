// bandwidth on a simulated device: every thread's load takes the memory's latency, an SM has its way to memory, the
// bus moves whole transactions at its rate (netpipe/devices/simulated/multiprocessors.hpp). No caches.
#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/error.hpp"
#include "probes/shapes.hpp"
#include "probes/simulated_probe.hpp"

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

class BandwidthSimulatedKernel final : public SimulatedKernel {
 public:
  BandwidthSimulatedKernel(const ProbeCase& c, std::uint64_t max_bytes)
      : SimulatedKernel(c), traffic_(traffic_of(c.operation)), max_bytes_(max_bytes) {
    device().take(max_bytes_);
  }
  ~BandwidthSimulatedKernel() override { device().give_back(max_bytes_); }

 private:
  // A step is `ilp` accesses of each thread, and a repeat is one step: where the grid is as large as the array, the
  // array once. A warp's accesses lie side by side, in whole transactions.
  Repeat repeat_of(const Shape& shape) const override {
    if (shape.access_bytes == 0) throw Error(ErrorKind::usage, "a bandwidth shape needs access_bytes");
    if (shape.bytes > max_bytes_)
      throw Error(ErrorKind::usage,
                  fmt::format("a working set of {} bytes, where {} were opened", shape.bytes, max_bytes_));
    const auto& m = multiprocessors();
    const double moves = traffic_.loads + traffic_.stores;
    const double access = shape.access_bytes;
    const std::uint32_t warps = shape.threads / simulated::warp_threads, left = shape.threads % simulated::warp_threads;
    const auto on_bus = [&](std::uint32_t threads) {
      return threads ? std::max(threads * access, m.transaction_bytes) : 0;
    };

    Repeat repeat;
    repeat.step.latency_cycles = traffic_.loads > 0 ? m.memory_latency_cycles : 0;  // nobody waits for a store
    repeat.step.instructions = moves * shape.ilp;
    repeat.step.block_bytes = moves * shape.ilp * access * shape.threads;
    repeat.step.block_bus_bytes = moves * shape.ilp * (warps * on_bus(simulated::warp_threads) + on_bus(left));
    repeat.work = repeat.step.block_bytes * static_cast<double>(shape.blocks);
    return repeat;
  }

  const Traffic traffic_;
  const std::uint64_t max_bytes_;
};

class BandwidthSimulated final : public SimulatedProbe {
 public:
  std::string_view name() const override { return "bandwidth"; }
  std::string_view summary() const override { return "reads and writes on simulated devices; no measurement"; }

  Limit peak(const ProbeCase& c) const override {
    const Limit memory = device(c.device).memory;
    return {memory.per_s, memory.source};
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return bandwidth_shapes(layout(c), c.form); }
  std::unique_ptr<Runner<Probes>> open(const ProbeCase& c, std::uint64_t max_bytes) const override {
    if (const auto why = refuses(c)) throw Error(ErrorKind::usage, *why);
    return std::make_unique<BandwidthSimulatedKernel>(c, max_bytes);
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
};

}  // namespace

NPGPU_PROBE(BandwidthSimulated)

}  // namespace npgpu
