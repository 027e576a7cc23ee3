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
  repeat.all_bytes_per_s = no_limit;
  return repeat;
}

const Simulated occupancy_probe(
    {{.name = "occupancy",
      .summary = "loads that wait for each other, by blocks that a simulated unit holds; no measurement",
      .need = Need::occupancy,
      .repeat = chase_repeat,
      .cases = [](const std::string& device) { return std::vector{occupancy::question(device)}; },
      .shapes = [](const ProbeCase&, const Layout& l) { return occupancy::shapes(l, registers); },
      .refuses =
          [](const ProbeCase& c, const Shape& s) {
            return occupancy::refuses(find_probe(c.probe, c.device).context(c).layout, s, registers);
          },
      .limit = [](const ProbeCase&, const Multiprocessors&) -> Limit {
        return {not_measured, "none: what fewer blocks cost is compared with the law of resident blocks"};
      }}});

}  // namespace
}  // namespace npgpu::simulated
