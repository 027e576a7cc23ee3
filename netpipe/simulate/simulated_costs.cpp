// What a simulated device would charge for streams: the facts of its spec in the simulator's words.
#include <algorithm>
#include <string>

#include "npgpu/error.hpp"
#include "npgpu/simulate.hpp"

namespace npgpu {

namespace {

class StatedCosts {
 public:
  explicit StatedCosts(const DeviceInfo& device) : device_(device) {}

  double number(const std::string& name, double otherwise) const {
    const Fact* fact = find(name);
    if (!fact) return otherwise;
    if (const auto* whole = std::get_if<std::int64_t>(fact)) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(fact);
    return real ? *real : otherwise;
  }
  Seconds us(const std::string& name, double otherwise = 0) const { return from_microseconds(number(name, otherwise)); }
  std::string text(const std::string& name) const {
    const Fact* fact = find(name);
    const auto* text = fact ? std::get_if<std::string>(fact) : nullptr;
    return text ? *text : std::string();
  }
  Curve copies(const std::string& link) const {
    const double rate = number(link + "_gb_s", 0);
    if (!(rate > 0))
      throw Error(ErrorKind::usage, device_.id + " has no copies " + link + " (npgpu info shows its links)");
    return Curve::line(Seconds{0}, Seconds{1 / (rate * 1e9)});
  }

 private:
  const Fact* find(const std::string& name) const {
    const auto found =
        std::find_if(device_.facts.begin(), device_.facts.end(), [&](const auto& fact) { return fact.first == name; });
    return found == device_.facts.end() ? nullptr : &found->second;
  }
  const DeviceInfo& device_;
};

}  // namespace

StreamCosts simulated_costs(const DeviceInfo& device, Memory memory) {
  if (!device.simulated)
    throw Error(ErrorKind::usage, device.id + " is no simulated device: its costs must be measured");
  const StatedCosts stated(device);
  std::string kind(name(memory));
  std::replace(kind.begin(), kind.end(), '-', '_');
  const std::string in = "h2d_" + kind, out = "d2h_" + kind;

  StreamCosts costs;
  const Seconds copy = stated.us("copy_async_us");
  costs.issue = {copy, stated.us("kernel_launch_us", stated.number("launch_us", 0)), copy};
  costs.stream_create = stated.us("stream_create_us");
  costs.copy_h2d = stated.copies(in);
  costs.copy_d2h = stated.copies(out);
  costs.gap = {stated.us(in + "_gap_us"), stated.us("kernel_gap_us"), stated.us(out + "_gap_us")};
  costs.latency = {stated.us(in + "_latency_us") + stated.us("kernel_latency_us"), stated.us(out + "_latency_us"),
                   Seconds{0}};
  costs.duplex_slowdown_h2d = stated.number("duplex_sl_h", 1);
  costs.duplex_slowdown_d2h = stated.number("duplex_sl_d", 1);
  costs.copy_engines = static_cast<int>(stated.number("copy_engines", 2));
  costs.queues.h2d = costs.queues.kernel = costs.queues.d2h =
      static_cast<std::uint32_t>(stated.number("hardware_queues", 0));
  const std::string capability = stated.text("compute_capability");
  if (capability.rfind("1.", 0) == 0) costs.compute = Compute::serial;
  if (capability.rfind("2.", 0) == 0) costs.implicit_sync = ImplicitSync::end;
  return costs;
}

}  // namespace npgpu
