#include "netpipe/campaign/condition.hpp"

#include <algorithm>

#include "npgpu/clock.hpp"

namespace npgpu::campaign {

namespace {

constexpr std::uint64_t enough_bytes = MiB;  // smaller copies may leave a link asleep
constexpr Seconds looks_apart{0.05};

}  // namespace

void Conditions::copied(const DeviceInfo& device, std::uint64_t bytes) {
  const Seconds now = steady_clock().now();
  Seen& seen = seen_[device.id];
  if (bytes < enough_bytes || now - seen.at < looks_apart) return;
  seen.at = now;
  const LinkState link = devices::link_state(device.id);
  seen.link.generation = std::max(seen.link.generation, link.generation);
  seen.link.lanes = std::max(seen.link.lanes, link.lanes);
}

void Conditions::note(TraceWriter& writer) const {
  int gpus = 0;
  for (const DeviceInfo& device : devices_) {
    if (device.id == "host") continue;
    const std::string group = "gpu" + std::to_string(gpus++) + "_after";
    Facts facts{{"id", device.id}};
    if (const auto seen = seen_.find(device.id); seen != seen_.end() && seen->second.link.lanes > 0) {
      facts.emplace_back("pcie_generation_copying", std::int64_t{seen->second.link.generation});
      facts.emplace_back("pcie_lanes_copying", std::int64_t{seen->second.link.lanes});
    }
    const Facts counted = devices::counters(device.id);
    facts.insert(facts.end(), counted.begin(), counted.end());
    if (facts.size() > 1) writer.note(group, facts);
  }
}

}  // namespace npgpu::campaign
