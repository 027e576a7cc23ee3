// Which devices OpenCL has, and what is known of them: those of all platforms, in the loader's order, numbered through.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/opencl/check.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::opencl {

struct Found {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceInfo info;
};

// Found once a process; empty where there is no library or no device.
const std::vector<Found>& inventory();
// Throws Error: usage for a device that is not there, nothing where there is none.
const Found& find_or_throw(const std::string& id);
// Why there is nothing to measure; empty if there is a device.
std::string why_no_device();
// The last level before the device's memory, as OpenCL or the device's other name has it; 0: unknown.
std::uint64_t last_cache_bytes(const DeviceInfo&);
// What is free of its memory now, as far as that can be asked; else all of it.
std::uint64_t free_memory(const std::string& id);
// Binds the calling thread near a device on the PCI bus.
host::Binding binding_near(const std::string& id);
// A device among those found that its driver calls unavailable now.
std::optional<std::string> device_that_left();

// Answers about a device; nothing where the driver does not know the question.
std::optional<std::string> text_of(cl_device_id, cl_device_info);
std::optional<std::string> text_of(cl_platform_id, cl_platform_info);
template <class T> std::optional<T> value_of(cl_device_id device, cl_device_info what) {
  T value{};
  std::size_t bytes = 0;
  if (library().clGetDeviceInfo(device, what, sizeof value, &value, &bytes) != CL_SUCCESS || bytes != sizeof value)
    return std::nullopt;
  return value;
}
bool has_extension(cl_device_id, std::string_view name);

// What the device says of itself, without its id.
DeviceInfo describe(cl_platform_id, cl_device_id);

// What Linux has in /sys of a GPU at a place of the PCI bus, by its driver: amdgpu of AMD, i915 and xe of Intel. What
// cannot be read is NaN, or left out. `sys` is for tests.
Telemetry sysfs_telemetry(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");
//   max_sm_clock_mhz, max_memory_clock_mhz, power_limit_w
//   max_pcie_generation, max_pcie_lanes, pcie_generation_now, pcie_lanes_now
Facts sysfs_facts(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");
// Energy since some moment, in J; NaN where there is no counter (Intel's drivers have one).
double sysfs_joules(const std::string& pci_bus_id, const std::filesystem::path& sys = "/sys");

}  // namespace npgpu::opencl
