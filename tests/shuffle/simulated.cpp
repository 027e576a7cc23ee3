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

const Simulated shuffle_probe({{.name = "shuffle",
                                .summary = "exchanges of lanes on simulated devices; no measurement",
                                .repeat = shuffle_repeat,
                                .cases =
                                    [](const std::string& device) {
                                      return std::vector<ProbeCase>{{.probe = "shuffle",
                                                                     .device = device,
                                                                     .operation = Operation::sum,
                                                                     .type = DataType::int32}};
                                    },
                                .shapes =
                                    [](const ProbeCase&, const Layout& l) {
                                      std::vector<Shape> all;
                                      for (const std::uint32_t ways : {1, 2, 4, 8})
                                        all.push_back({.blocks = l.units, .threads = 1024, .ways = ways});
                                      return all;
                                    },
                                .limit = [](const ProbeCase&, const Multiprocessors& m) -> Limit {
                                  return {m.lanes * m.sms * m.max_clock_hz, "the spec: lanes * SMs * clock"};
                                }}});

}  // namespace
}  // namespace npgpu::simulated
