// What all probes of the host have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/probe.hpp"

namespace npgpu {

class HostProbe : public Probe {
 public:
  std::string_view kind() const override { return "host"; }
  std::vector<DeviceInfo> devices() const override;
};

// 1, 2, 3, ... up to 16, then ever larger steps, and `units` itself.
std::vector<std::uint32_t> cores_one_by_one(std::uint32_t units);

}  // namespace npgpu
