// Banks of simulated devices: the passes of each pattern are counted, lane by lane, in the device's own banks.
#include "probes/simulated.hpp"

#include "probes/banks/shapes.hpp"

namespace npgpu::simulated {

namespace {

Repeat banks_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = banks::work(c, s);
  repeat.steps = banks::loads_of_repeat;
  const double passes = banks::passes_of(banks::words_of(s), m.shared_banks, m.bank_bytes / banks::word_bytes);
  repeat.step.latency_cycles = m.shared_latency_cycles + (passes - 1) * m.shared_conflict_cycles;
  const double pass_bytes = static_cast<double>(m.shared_banks) * banks::word_bytes;
  repeat.step.block_bytes = warps_of(s) * passes * pass_bytes;
  repeat.sm_bytes_per_cycle = pass_bytes;
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated banks_probe(
    {{.name = "banks",
      .need = Need::banks,
      .repeat = banks_repeat,
      .limit = [](const ProbeCase& c, const Multiprocessors& m) -> Limit {
        if (c.operation == Operation::chase) return {not_measured, "none: a latency has no peak"};
        return {m.sms * m.max_clock_hz * m.shared_banks * banks::word_bytes, "the spec: banks * 4 bytes * SMs * clock"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
