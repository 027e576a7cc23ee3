#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

// No cache: each thread's words come from memory, or once for a tile; reads of a tile cost nothing. A step is a tile of
// each matrix, or one word.
Repeat product_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  const double n = patterns::rows_of_matrix(s), tile = s.rung == 2 ? patterns::tile_of(s) : 1;
  repeat.steps = n / tile;
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = s.rung == 2 ? 2 + tile : 3;
  repeat.step.block_bytes = repeat.step.block_bus_bytes = 2.0 * word_bytes * s.threads;
  repeat.sm_bytes_per_cycle = no_limit;
  repeat.work = operations_of_an_fma * n * n * n;
  return repeat;
}

const Simulated product_probe(
    {{.name = "product",
      .summary = "products of matrices on simulated devices; no measurement",
      .need = Need::memory,
      .repeat = product_repeat,
      .cases = [](const std::string& device) { return std::vector{patterns::product_case(device)}; },
      .shapes = [](const ProbeCase&, const Layout& l) { return patterns::product_shapes(l); },
      .refuses = patterns::refuses_product,
      .limit = fma_limit,
      .arrays = 3}});

}  // namespace
}  // namespace npgpu::simulated
