// Code on simulated devices: a scheduler issues an instruction in a cycle, and beyond the cache of instructions no more
// than come from L2.
#include "probes/simulated.hpp"

#include "probes/code/shapes.hpp"

namespace npgpu::simulated {

namespace {

Repeat code_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.work = code::work(s);
  repeat.steps = static_cast<double>(code::instructions(s));
  repeat.all_bytes_per_s = no_limit;
  const bool held = static_cast<double>(s.bytes) <= m.code_bytes;
  repeat.step.instructions = 1;
  repeat.step.latency_cycles = held ? 1 : code::instruction_bytes / m.code_bytes_per_cycle;
  return repeat;
}

const Simulated code_probe({{.name = "code",
                             .summary = "straight lines of code on simulated devices; no measurement",
                             .need = Need::code,
                             .repeat = code_repeat,
                             .cases = [](const std::string& device) { return std::vector{code::only_case(device)}; },
                             .shapes = [](const ProbeCase&, const Layout& l) { return code::shapes(l); },
                             .refuses = [](const ProbeCase&, const Shape& s) { return code::refuses(s); },
                             .limit = [](const ProbeCase&, const Multiprocessors& m) -> Limit {
                               return {m.lanes * m.sms * m.max_clock_hz, "the spec: lanes * SMs * clock"};
                             }}});

}  // namespace
}  // namespace npgpu::simulated
