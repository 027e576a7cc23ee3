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

class SimulatedShuffle final : public SimulatedProbe {
 public:
  SimulatedShuffle() : SimulatedProbe(Need::compute, shuffle_repeat) {}
  std::string_view name() const override { return "shuffle"; }
  std::string_view summary() const override { return "exchanges of lanes on simulated devices; no measurement"; }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    std::vector<Shape> all;
    for (const std::uint32_t ways : {1, 2, 4, 8})
      all.push_back({.blocks = context(c).layout.units, .threads = 1024, .ways = ways});
    return all;
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    return {{.probe = "shuffle", .device = device, .operation = Operation::sum, .type = DataType::int32}};
  }
  Limit limit(const ProbeCase&, const Multiprocessors& m) const override {
    return {m.lanes * m.sms * m.max_clock_hz, "the spec: lanes * SMs * clock"};
  }
};

}  // namespace
}  // namespace npgpu::simulated

NPGPU_REGISTERED(Probe, npgpu::simulated::SimulatedShuffle)
