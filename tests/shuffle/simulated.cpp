// And this one runs it on simulated devices: an instruction for each word, of which the first counts.
#include "probes/simulated.hpp"

namespace npgpu::simulated {

namespace {

Repeat shuffle_repeat(const ProbeCase&, const Shape& s, const Multiprocessors&) {
  Repeat repeat;
  repeat.steps = 1024;
  repeat.step.instructions = s.ways;
  repeat.work = repeat.steps * s.threads * s.blocks;
  return repeat;
}

const Simulated shuffle_probe(
    {{.name = "shuffle", .repeat = shuffle_repeat, .limit = [](const ProbeCase&, const Multiprocessors& m) -> Limit {
        return {m.lanes * m.sms * m.max_clock_hz, "the spec: lanes * SMs * clock"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
