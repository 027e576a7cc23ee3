// What this machine says of itself.
#pragma once

#include <cstdint>

#include "npgpu/device.hpp"

namespace npgpu::host {

// This machine's cpu and memory as a device, id "host". What cannot be read is left out of its facts.
DeviceInfo host_device();

// The largest last-level cache that one thread reaches; 0 if unknown.
std::uint64_t last_level_cache_bytes();

}  // namespace npgpu::host
