// The time of a repeat on a simulated device:
//
//   pages that move by faults   faults * time of a fault + bytes / rate of their way; a fault brings `fault_bytes`
//   first use                   faults * time of a fault: nothing has to come
//   prefetch                    bytes / rate of their way
//   in place                    bytes / rate of the way to the device
//   already there               bytes / rate of the memory
//   chase                       one memory latency a load, and the faults among them
#include "probes/simulated.hpp"

#include <algorithm>
#include <cmath>

#include "probes/migration/shapes.hpp"

namespace npgpu::simulated {

namespace {

double seconds_of(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  const auto bytes = static_cast<double>(s.bytes);
  const double faults = std::ceil(bytes / m.fault_bytes);
  const bool moves = s.pages == Pages::host || s.pages == Pages::copied;
  switch (c.operation) {
    case Operation::prefetch: return bytes / (s.pages == Pages::host ? m.to_device_bytes_per_s : m.to_host_bytes_per_s);
    case Operation::host_read:
      return bytes / m.host_bytes_per_s +
             (s.pages == Pages::device ? faults * m.fault_s + bytes / m.to_host_bytes_per_s : 0);
    case Operation::chase: {
      const auto touches = static_cast<double>(migration::touches(s));
      const double missing = s.pages == Pages::host ? std::min(touches, faults) : 0;
      return touches * m.memory_latency_cycles / m.clock_hz +
             missing * (m.fault_s + m.fault_bytes / m.to_device_bytes_per_s);
    }
    default: break;
  }
  if (s.pages == Pages::untouched) return faults * m.fault_s;
  if (moves) return faults * m.fault_s + bytes / m.to_device_bytes_per_s;
  if (s.pages == Pages::device) return bytes / m.bus_bytes_per_s;
  return bytes / m.to_device_bytes_per_s;
}

Repeat migration_repeat(const ProbeCase& c, const Shape& s, const Multiprocessors& m) {
  Repeat repeat;
  repeat.step.latency_cycles = seconds_of(c, s, m) * m.clock_hz;
  repeat.work = migration::work(c, s);
  return repeat;
}

const Simulated migration_probe(
    {{.name = "migration", .need = Need::migration, .repeat = migration_repeat, .cases = [](const std::string& device) {
        auto all = migration::cases(device);
        std::erase_if(all, [](const ProbeCase& c) { return c.space == Space::pageable; });
        return all;
      }}});

}  // namespace
}  // namespace npgpu::simulated
