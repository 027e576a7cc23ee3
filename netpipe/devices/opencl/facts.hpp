// What Linux has in /sys of a GPU at a place of the PCI bus, by its driver: amdgpu of AMD, i915 and xe of Intel. What
// cannot be read is NaN, or left out. `sys` is for tests.
#pragma once

#include <filesystem>
#include <string>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu::opencl {

Telemetry sysfs_telemetry(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");

//   max_sm_clock_mhz, max_memory_clock_mhz, power_limit_w
//   max_pcie_generation, max_pcie_lanes, pcie_generation_now, pcie_lanes_now
Facts sysfs_facts(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");

// Energy since some moment, in J; NaN where there is no counter (Intel's drivers have one).
double sysfs_joules(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");

}  // namespace npgpu::opencl
