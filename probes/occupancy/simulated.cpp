// The probe occupancy on simulated devices: a load takes the memory's latency, whatever else runs.
#include "probes/simulated.hpp"

#include "probes/occupancy/shapes.hpp"

namespace npgpu::simulated {

namespace {

constexpr std::uint32_t registers[] = {32, 40, 64, 80, 128, 168, 255};

Repeat chase_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.step.latency_cycles = m.memory_latency_cycles;
  repeat.step.instructions = 1;
  repeat.steps = occupancy::loads;
  repeat.work = static_cast<double>(occupancy::loads) * s.access_bytes * s.threads * s.blocks;
  repeat.all_bytes_per_s = std::numeric_limits<double>::infinity();
  return repeat;
}

class SimulatedOccupancy final : public SimulatedProbe {
 public:
  SimulatedOccupancy() : SimulatedProbe(Need::occupancy, chase_repeat) {}
  std::string_view name() const override { return "occupancy"; }
  std::string_view summary() const override {
    return "loads that wait for each other, by blocks that a simulated unit holds; no measurement";
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    return occupancy::shapes(context(c).layout, registers);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return {occupancy::question(device)}; }
  std::optional<std::string> refuses_pattern(const ProbeCase& c, const Shape& s) const override {
    return occupancy::refuses(context(c).layout, s, registers);
  }
  Limit limit(const ProbeCase&, const Multiprocessors&) const override {
    return {not_measured, "none: what fewer blocks cost is held against the law of resident blocks"};
  }
};

}  // namespace
}  // namespace npgpu::simulated

NPGPU_REGISTERED(Probe, npgpu::simulated::SimulatedOccupancy)
