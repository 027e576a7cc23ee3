#include "probes/simulated.hpp"

#include <cmath>

#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

// What a block of a rung issues to add its words up, for each of its warps: for each pass in which a warp has a lane at
// work some instructions, and a barrier for all warps; where lanes meet in banks, as much longer.
double tail_of_rung(std::uint32_t rung, const Multiprocessors& m) {
  constexpr double of_pass = 8, of_barrier = 3, of_shuffle = 2;
  const std::uint32_t threads = patterns::rung_threads, warps = threads / warp_threads;
  const double passes = std::log2(threads), of_last_warp = std::log2(warp_threads) + 1;
  if (rung == patterns::rungs) return 2 * of_shuffle * std::log2(warp_threads) + of_barrier;
  if (rung == 1) return of_pass * reduction_warps(threads, true) / warps + of_barrier * passes;
  double work = of_pass * reduction_warps(threads, false);
  if (rung == 2)
    for (std::uint32_t s = 1; s < threads; s *= 2)
      work += std::ceil(threads / (2.0 * s) / warp_threads) *
              shared_cycles(2 * s, std::min(threads / (2 * s), warp_threads), m.shared_banks, m.bank_bytes);
  return work / warps + of_barrier * (rung < 5 ? passes : passes - of_last_warp);
}

Repeat reduction_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double step_bytes = static_cast<double>(s.ilp) * s.access_bytes * s.threads;
  repeat.steps = std::max(1.0, static_cast<double>(s.bytes) / (step_bytes * s.blocks));
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = s.ilp * (1 + s.access_bytes / word_bytes) + tail_of_rung(s.rung, m) / repeat.steps;
  repeat.step.block_bytes = repeat.step.block_bus_bytes = step_bytes;
  repeat.work = static_cast<double>(s.bytes);
  return repeat;
}

const Simulated reduction_probe(
    {{.name = "reduction",
      .summary = "the ladder of reductions on simulated devices; no measurement",
      .need = Need::memory,
      .repeat = reduction_repeat,
      .cases = [](const std::string& device) { return std::vector{patterns::reduction_case(device)}; },
      .shapes = [](const ProbeCase&, const Layout& l) { return patterns::reduction_shapes(l); },
      .refuses = patterns::refuses_reduction,
      .limit = memory_limit}});

}  // namespace
}  // namespace npgpu::simulated
