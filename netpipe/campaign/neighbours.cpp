#include "netpipe/campaign/neighbours.hpp"

#include <algorithm>
#include <thread>

#include "npgpu/clock.hpp"

namespace npgpu::campaign {

namespace {

constexpr const char* the_host = "host";
constexpr Seconds look{0.25};  // what the host's counters need to see others

}  // namespace

NeighbourWatch::NeighbourWatch(const std::vector<DeviceInfo>& all) {
  const auto add = [&](const std::string& id) {
    if (auto watch = devices::watch(id)) watches_.emplace(id, std::move(watch));
  };
  for (const DeviceInfo& device : all) {
    add(device.id);
    if (!device.simulated) add(the_host);
  }
}

std::string NeighbourWatch::wait(Seconds patience, const std::function<bool()>& interrupted) {
  if (watches_.empty()) return {};
  const Seconds begin = steady_clock().now();
  for (;;) {
    for (const auto& [id, watch] : watches_) watch->begin();
    std::this_thread::sleep_for(look);
    std::string seen;
    for (const auto& [id, watch] : watches_)
      if (const Disturbance found = watch->end(); found.causes)
        seen += (seen.empty() ? "" : "; ") + id + ": " +
                disturbance_text(found.causes, found.by.empty() ? std::set<std::string>{} : std::set{found.by});
    if (seen.empty() || steady_clock().now() - begin >= patience || interrupted()) return seen;
  }
}

void NeighbourWatch::begin(const std::string& device, bool is_host_timed) {
  active_.clear();
  for (const auto& [id, watch] : watches_)
    if (id == the_host ? is_host_timed : id == device) active_.push_back(watch.get());
  for (DeviceWatch* watch : active_) watch->begin();
}

std::string NeighbourWatch::cannot_see() {
  for (const auto& [id, watch] : watches_)
    if (std::ranges::find(active_, watch.get()) != active_.end())
      if (const std::string why = watch->cannot_see(); !why.empty() && said_.insert(id).second) return id + ": " + why;
  return {};
}

Disturbance NeighbourWatch::end() {
  Disturbance all;
  for (DeviceWatch* watch : active_) {
    const Disturbance found = watch->end();
    all.causes |= found.causes;
    if (all.by.empty()) all.by = found.by;
  }
  return all;
}

}  // namespace npgpu::campaign
