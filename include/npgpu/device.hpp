// What is measured, and what it says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu {

// Named facts for the trace's provenance and for `npgpu info`, in the order they should be read.
// Names are snake_case and end in their unit (memory_bytes, sm_clock_mhz).
using Fact = std::variant<std::int64_t, double, std::string>;
using Facts = std::vector<std::pair<std::string, Fact>>;

// A theoretical rate and where it comes from ("PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130").
struct Limit {
  double bytes_per_s = not_measured;  // NaN: unknown
  std::string source = "unknown";
};

struct DeviceInfo {
  std::string id;    // what the user types: host, cuda:0, sim:gtx280
  std::string name;  // what it calls itself: NVIDIA H200
  bool simulated = false;
  std::uint64_t memory_bytes = 0;
  std::string uuid;        // empty where there is none
  std::string pci_bus_id;  // empty where there is none
  int numa_node = -1;      // -1: unknown, or the machine has only one
  Limit link;              // host to device, one direction
  Limit memory;            // the device's own memory, read + write together
  Facts facts;
};

// State of a device at one moment; NaN is what could not be read.
struct Telemetry {
  double sm_clock_mhz = not_measured;
  double memory_clock_mhz = not_measured;
  double power_w = not_measured;
  double temperature_c = not_measured;
  std::uint64_t throttle_reasons = 0;  // NVML's bit mask, ours raw; 0 where it cannot be read too
};

}  // namespace npgpu
