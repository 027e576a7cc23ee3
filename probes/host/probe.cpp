#include "probes/host/probe.hpp"

#include "netpipe/devices/host/facts.hpp"

namespace npgpu {

std::vector<DeviceInfo> HostProbe::devices() const { return {host::host_device()}; }

std::vector<std::uint32_t> cores_one_by_one(std::uint32_t units) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 1; n < units; n += n < 16 ? 1 : n / 8 * 2) all.push_back(n);
  if (units) all.push_back(units);
  return all;
}

}  // namespace npgpu
