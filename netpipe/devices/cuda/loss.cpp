#include "netpipe/devices/cuda/loss.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/nvml/nvml.hpp"

namespace npgpu::cuda {

std::optional<Loss> find_loss() {
  const std::vector<DeviceInfo>* const all = inventory_if_made();
  if (!all) return std::nullopt;
  std::vector<const DeviceInfo*> gpus;
  for (const DeviceInfo& info : *all) gpus.push_back(&info);
  const std::string current = fmt::format("cuda:{}", current_ordinal);
  std::ranges::stable_partition(gpus, [&](const DeviceInfo* info) { return info->id == current; });
  for (const DeviceInfo* info : gpus)
    if (const auto evidence = nvml::why_lost(info->pci_bus_id)) return Loss{info->id, *evidence};
  return std::nullopt;
}

}  // namespace npgpu::cuda
