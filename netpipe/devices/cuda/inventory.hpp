// The GPUs of this machine, as they describe themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/device.hpp"

namespace npgpu::cuda {

// All GPUs that the driver shows, in its order; empty where there is none (check.hpp's why_no_device says
// why). Only attributes are asked: no context is made, so that looking at a node takes no memory on its
// GPUs. Asked once a process.
const std::vector<DeviceInfo>& inventory();

// 3 from "cuda:3"; nothing for anything else.
std::optional<int> ordinal_of(std::string_view device);

// "a CUDA device of this machine", or why it is not: the sentence for a case on a device that is not there.
std::optional<std::string> why_not_there(std::string_view device);

struct FreeMemory {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};
// Makes the device current, and so its context, which itself takes some hundred MiB.
FreeMemory device_memory(int ordinal);

std::uint64_t l2_bytes(int ordinal);
bool has_managed_memory(int ordinal);

}  // namespace npgpu::cuda
