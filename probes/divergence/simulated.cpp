#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

Repeat divergence_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double steps = patterns::branch_steps * ways_taken(s.stride, s.ways, s.threads, m.branch_lanes);
  repeat.step.instructions = steps;
  repeat.step.latency_cycles = steps * m.fma_latency_cycles;
  repeat.work = operations_of_an_fma * patterns::branch_steps * s.threads * s.blocks;
  return repeat;
}

const Simulated divergence_probe(
    {{.name = "divergence",
      .summary = "branches of several ways on simulated devices; no measurement",
      .repeat = divergence_repeat,
      .cases = [](const std::string& device) { return std::vector{patterns::divergence_case(device)}; },
      .shapes = [](const ProbeCase&, const Layout& l) { return patterns::divergence_shapes(l); },
      .refuses = patterns::refuses_divergence,
      .limit = fma_limit}});

}  // namespace
}  // namespace npgpu::simulated
