#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

Repeat access_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  const double accesses = warps_of(s) * s.ilp;
  const auto touched = [&](std::uint32_t bytes) {
    return accesses * pieces(s.stride, s.offset_bytes, warp_threads, bytes) * bytes;
  };
  if (c.space == Space::l1) {
    repeat.sm_bytes_per_cycle = m.l1_bytes_per_cycle;
    repeat.step.block_bytes = touched(m.line_bytes);
  } else {
    repeat.step.block_bus_bytes = touched(m.sector_bytes);
    repeat.all_bytes_per_s = beyond_l2(s, m);
  }
  return repeat;
}

const Simulated access_probe(
    {{.name = "access",
      .summary = "loads of a warp by stride and offset on simulated devices; no measurement",
      .need = Need::onchip,
      .repeat = access_repeat,
      .cases =
          [](const std::string& device) {
            return reads_of("access", device, {Space::l2, Space::l1});
          },
      .shapes = [](const ProbeCase& c, const Layout& l) { return patterns::access_shapes(l, c.space); },
      .refuses = patterns::refuses_access,
      .limit = [](const ProbeCase&, const Multiprocessors&) -> Limit {
        return {not_measured, "none: a pattern's cost is compared with the law of sectors or lines"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
