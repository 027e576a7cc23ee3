// What a simulated device would charge for streams: the facts of its spec in the simulator's words.
#include <algorithm>
#include <cmath>
#include <string>

#include "npgpu/error.hpp"
#include "npgpu/simulate.hpp"

namespace npgpu {

StreamCosts simulated_costs(const DeviceInfo& device, Memory memory) {
  if (!device.simulated)
    throw Error(ErrorKind::usage, device.id + " is no simulated device: its costs must be measured");
  const auto number = [&](const std::string& fact, double otherwise) {
    const double stated = number_fact(device.facts, fact);
    return std::isnan(stated) ? otherwise : stated;
  };
  const auto us = [&](const std::string& fact, double otherwise = 0) {
    return from_microseconds(number(fact, otherwise));
  };
  const auto copies = [&](const std::string& link) {
    const double rate = number(link + "_gb_s", 0);
    if (!(rate > 0))
      throw Error(ErrorKind::usage, device.id + " has no copies " + link + " (npgpu info shows its links)");
    return Curve::line(Seconds{0}, Seconds{1 / (rate * 1e9)});
  };
  const std::string capability = text_fact(device.facts, "compute_capability");
  const auto of_major = [&](const char* major) { return capability.starts_with(major); };
  std::string kind(name(memory));
  std::replace(kind.begin(), kind.end(), '-', '_');
  const std::string in = "h2d_" + kind, out = "d2h_" + kind;

  StreamCosts costs;
  const Seconds copy = us("copy_async_us");
  costs.issue = {copy, us("kernel_launch_us", number("launch_us", 0)), copy};
  costs.stream_create = us("stream_create_us");
  costs.copy_h2d = copies(in);
  costs.copy_d2h = copies(out);
  costs.gap = {us(in + "_gap_us"), us("kernel_gap_us"), us(out + "_gap_us")};
  costs.latency = {us(in + "_latency_us") + us("kernel_latency_us"), us(out + "_latency_us"), Seconds{0}};
  costs.duplex_slowdown_h2d = number("duplex_sl_h", 1);
  costs.duplex_slowdown_d2h = number("duplex_sl_d", 1);
  costs.copy_engines = static_cast<int>(number("copy_engines", 2));
  costs.queues.h2d = costs.queues.kernel = costs.queues.d2h = static_cast<std::uint32_t>(number("hardware_queues", 0));
  if (of_major("1.")) costs.compute = Compute::serial;
  if (of_major("2.")) costs.implicit_sync = ImplicitSync::end;
  return costs;
}

}  // namespace npgpu
