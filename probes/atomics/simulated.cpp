#include "probes/simulated.hpp"

#include <cmath>

#include "netpipe/devices/simulated/warp_accesses.hpp"
#include "probes/patterns.hpp"

namespace npgpu::simulated {

namespace {

Repeat atomics_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat = reads(s);
  repeat.work = static_cast<double>(s.ilp) * s.threads * s.blocks;
  if (c.space == Space::shared) {
    const double cycles = s.stride == 0 ? std::ceil(static_cast<double>(warp_threads) / m.shared_atomic_lanes)
                                        : shared_cycles(s.stride, warp_threads, m.shared_banks, m.bank_bytes);
    repeat.step.block_bytes = warps_of(s) * s.ilp * cycles;  // a cycle as a byte
    repeat.sm_bytes_per_cycle = 1;
  } else {
    repeat.step.block_bus_bytes = static_cast<double>(s.ilp) * s.threads;  // an addition as a byte
    repeat.all_bytes_per_s = s.stride == 0 ? m.l2_atomics_one_word_per_s : m.l2_atomics_per_s;
  }
  return repeat;
}

const Simulated atomics_probe({{.name = "atomics",
                                .summary = "atomic additions on simulated devices; no measurement",
                                .need = Need::atomics,
                                .repeat = atomics_repeat,
                                .cases = patterns::atomics_cases,
                                .shapes = [](const ProbeCase& c,
                                             const Layout& l) { return patterns::atomics_shapes(l, c.space); },
                                .refuses = patterns::refuses_atomics,
                                .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
                                  if (c.space == Space::global) return {m.l2_atomics_per_s, "the spec: l2_atomics_g_s"};
                                  return {m.max_clock_hz * m.sms * m.shared_banks, "the spec: banks * SMs * clock"};
                                }}});

}  // namespace
}  // namespace npgpu::simulated
