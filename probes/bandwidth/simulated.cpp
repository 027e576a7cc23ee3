// There are no caches: every thread's load takes the memory's latency, a multiprocessor has its way to memory, and the
// bus moves whole transactions at its rate.
#include "probes/simulated.hpp"

namespace npgpu::simulated {

namespace {

// A step is `ilp` accesses of each thread, and a repeat is one step: where the grid is as large as the array, the array
// once. A warp's accesses lie side by side, in whole transactions.
Repeat bandwidth_repeat(const ProbeCase& question, const Shape& shape, const Multiprocessors& m) {
  const Operation op = question.operation;
  const double loads = op == Operation::write   ? 0
                       : op == Operation::triad ? 2
                                                : 1,
               moves = loads + (op == Operation::read ? 0 : 1);
  const double access = shape.access_bytes, ilp = shape.ilp;
  const std::uint32_t warps = shape.threads / warp_threads, left = shape.threads % warp_threads;
  const auto on_bus = [&](std::uint32_t threads) {
    return threads ? std::max(threads * access, m.transaction_bytes) : 0;
  };
  Repeat repeat;
  repeat.step.latency_cycles = loads > 0 ? m.memory_latency_cycles : 0;  // nobody waits for a store
  repeat.step.instructions = moves * ilp;
  repeat.step.block_bytes = moves * ilp * access * shape.threads;
  repeat.step.block_bus_bytes = moves * ilp * (warps * on_bus(warp_threads) + on_bus(left));
  repeat.work = repeat.step.block_bytes * static_cast<double>(shape.blocks);
  return repeat;
}

const Simulated bandwidth_probe({{.name = "bandwidth",
                                  .summary = "reads and writes on simulated devices; no measurement",
                                  .need = Need::memory,
                                  .repeat = bandwidth_repeat,
                                  .cases =
                                      [](const std::string& device) {
                                        return bandwidth_cases(device, DataType::fp32, Space::global, {Operation::rmw});
                                      },
                                  .shapes = [](const ProbeCase& c,
                                               const Layout& l) { return bandwidth_shapes(l, c.form); },
                                  .limit = memory_limit}});

}  // namespace
}  // namespace npgpu::simulated
