#include <algorithm>
#include <map>

#include "netpipe/engine/nvlink.hpp"
#include "netpipe/engine/transfer_runner.hpp"
#include "npgpu/measuring/runner.hpp"

namespace npgpu {

const Module* find_module(std::string_view name) {
  for (const auto& module : modules())
    if (module->name() == name) return module.get();
  return nullptr;
}

namespace {

// The part of what a lane takes: its two devices have an end each, and that of a round trip's source has the landing,
// too.
std::uint64_t share_of_a_device(const TransferCase& c, const Lane& lane, std::uint64_t bytes) {
  if (lane.direction != Direction::peer) return bytes;
  return c.pattern == Pattern::pingpong ? bytes - bytes / 3 : bytes - bytes / 2;
}

}  // namespace

// ---- what all modules have in common ------------------------------------------------------------------------------

std::optional<std::string> Module::refuses(const Step<Transfers>& step) const {
  const TransferCase& c = step.question;
  if (auto why = refuses_case(c)) return why;
  const std::vector<Lane> all = lanes(c);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (auto why = refuses_case(lane_case(c, all[i]))) return why;
  return std::nullopt;
}

TransferContext Module::context(const TransferCase& c) const {
  const DeviceInfo device = devices::find(device_of(c));
  if (c.direction != Direction::peer) return {limit_of(c, device)};
  std::vector<std::string> buses;
  for (const std::string& id : devices::node(device.id)) buses.push_back(devices::find(id).pci_bus_id);
  return {peer_limit(device, devices::find(c.target), buses)};
}

MemoryNeed Module::needs(std::span<const Step<Transfers>> steps) const {
  MemoryNeed most;  // one case is open at a time
  for (const auto& [question, max_bytes] : max_bytes_of(steps)) {
    MemoryNeed sum;
    std::map<std::string, std::uint64_t> device_bytes;
    for (const Lane& lane : lanes(question)) {
      const MemoryNeed one = needs_lane(lane_case(question, lane), max_bytes);
      sum.host_bytes = saturating_plus(sum.host_bytes, one.host_bytes);
      const std::uint64_t share = share_of_a_device(question, lane, one.device_bytes);
      for (const std::string& device : devices_of(lane_case(question, lane)))
        device_bytes[device] = saturating_plus(device_bytes[device], share);
    }
    for (const auto& [device, bytes] : device_bytes) sum.device_bytes = std::max(sum.device_bytes, bytes);
    most = {std::max(most.host_bytes, sum.host_bytes), std::max(most.device_bytes, sum.device_bytes)};
  }
  return most;
}

std::unique_ptr<Runner<Transfers>> Module::open(std::span<const Step<Transfers>> steps) const {
  return transfer_runner(
      [this](const TransferCase& lane, std::uint64_t max_bytes) { return open_lane(lane, max_bytes); }, steps);
}

}  // namespace npgpu
