#include "probes/simulated.hpp"

#include <cmath>

#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

// A step brings in as many tiles as are under way; nothing hides the latency but them and other blocks.
Repeat staging_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double tiles = std::floor(static_cast<double>(s.bytes) / patterns::tile_bytes / s.blocks);
  repeat.steps = tiles / s.ilp;
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = s.ilp * (s.rung == 1 ? 12 : s.rung == patterns::staging_rungs ? 6 : 10);
  repeat.step.block_bytes = repeat.step.block_bus_bytes = static_cast<double>(s.ilp) * patterns::tile_bytes;
  repeat.work = tiles * patterns::tile_bytes * s.blocks;
  return repeat;
}

const Simulated staging_probe(
    {{.name = "staging",
      .summary = "tiles brought into shared memory on simulated devices; no measurement",
      .need = Need::memory,
      .repeat = staging_repeat,
      .cases = [](const std::string& device) { return std::vector{patterns::staging_case(device)}; },
      .shapes = [](const ProbeCase&, const Layout& l) { return patterns::staging_shapes(l); },
      .refuses = patterns::refuses_staging,
      .limit = memory_limit}});

}  // namespace
}  // namespace npgpu::simulated
