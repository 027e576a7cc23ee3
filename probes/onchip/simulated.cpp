// A warp's access takes the cycles that the device's own banks make of it, or the sectors and lines that it touches.
#include "probes/simulated.hpp"

#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

Repeat onchip_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  const double accesses = warps_of(s) * s.ilp;
  if (c.space == Space::shared) {
    const double pass_bytes = static_cast<double>(m.shared_banks) * word_bytes;
    repeat.sm_bytes_per_cycle = pass_bytes;
    repeat.step.block_bytes =
        accesses * shared_cycles(s.stride, warp_threads, m.shared_banks, m.bank_bytes) * pass_bytes;
  } else if (c.space == Space::constant) {
    repeat.sm_bytes_per_cycle = m.constant_bytes_per_cycle;
    repeat.step.block_bytes = accesses * pieces(s.stride, 0, warp_threads, word_bytes) * warp_threads * word_bytes;
  } else {
    const double bytes = static_cast<double>(s.ilp) * s.access_bytes * s.threads;
    const bool in_l1 = c.space == Space::l1 && static_cast<double>(s.bytes) <= m.l1_bytes;
    repeat.step.block_bytes = c.space == Space::l1 ? bytes : 0;
    repeat.sm_bytes_per_cycle = m.l1_bytes_per_cycle;
    repeat.step.block_bus_bytes = in_l1 ? 0 : bytes;
    repeat.all_bytes_per_s = in_l1 ? no_limit : beyond_l2(s, m);
  }
  return repeat;
}

const Simulated onchip_probe(
    {{.name = "onchip",
      .summary = "reads of shared memory, L1, L2 and constants on simulated devices; no measurement",
      .need = Need::onchip,
      .repeat = onchip_repeat,
      .cases =
          [](const std::string& device) {
            return reads_of("onchip", device, {Space::shared, Space::l1, Space::l2, Space::constant});
          },
      .shapes = [](const ProbeCase& c, const Layout& l) { return patterns::onchip_shapes(l, c.space); },
      .default_shapes = [](const ProbeCase& c, const Layout& l) { return patterns::usual_onchip_shapes(l, c.space); },
      .refuses = patterns::refuses_onchip,
      .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
        const double all = m.sms * m.max_clock_hz;
        if (c.space == Space::shared)
          return {all * m.shared_banks * word_bytes, "the spec: banks * 4 bytes * SMs * clock"};
        if (c.space == Space::l1) return {all * m.l1_bytes_per_cycle, "the spec: l1_bytes_per_cycle * SMs * clock"};
        if (c.space == Space::l2) return {m.l2_bytes_per_s, "the spec: l2_gb_s"};
        return {all * m.constant_bytes_per_cycle, "the spec: constant_bytes_per_cycle * SMs * clock"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
