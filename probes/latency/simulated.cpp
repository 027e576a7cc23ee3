// A chase on simulated devices of which L2's latency is known: one thread, each of whose loads waits for the one
// before.
#include "probes/simulated.hpp"

#include <algorithm>

#include "netpipe/devices/simulated/library.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/shapes.hpp"

namespace npgpu::simulated {

namespace {

constexpr std::uint64_t chased_step = 128, least_chased = 4 * KiB, most_chased = GiB;
constexpr std::uint32_t chased_bytes = 8;
constexpr double loads_of_chase = 512;

// A set that L2 holds is answered by it, as there is no nearer cache.
Repeat latency_repeat(const ProbeCase&, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.step.latency_cycles =
      static_cast<double>(s.bytes) <= m.l2_bytes ? m.l2_latency_cycles : m.memory_latency_cycles;
  repeat.step.instructions = 1;
  repeat.steps = repeat.work = loads_of_chase;
  return repeat;
}

const Simulated latency_probe(
    {{.name = "latency",
      .need = Need::memory,
      .repeat = latency_repeat,
      .cases = [](const std::string& device) -> std::vector<ProbeCase> {
        if (!(multiprocessors_of(spec_of(device)).l2_latency_cycles > 0)) return {};
        return {{"latency", device, Operation::chase, DataType::fp64, Form::dependent, Space::global}};
      },
      .shapes =
          [](const ProbeCase&, const Layout& l) {
            return chase_shapes(chased_bytes, chased_step, least_chased, std::min(most_chased, l.memory_bytes / 4), 2);
          },
      .refuses = [](const ProbeCase&,
                    const Shape& s) { return refuses_chase_shape(s, chased_bytes, chased_step, most_chased); }}});

}  // namespace
}  // namespace npgpu::simulated
