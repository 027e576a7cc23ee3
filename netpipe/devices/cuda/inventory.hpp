// The GPUs of this machine, as they describe themselves.
#pragma once

#include <cuda_runtime_api.h>

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

// Why `device` is no CUDA device of this machine, in one sentence; nothing if it is one.
std::optional<std::string> why_not_there(std::string_view device);
// Throws Error with that sentence.
int ordinal_or_throw(std::string_view device);

// Throws Error(failed).
int attribute(cudaDeviceAttr which, int ordinal);

// Theoretical rates, from the facts of an inventory: of what GPU and slot can do at most, whatever the link is trained
// to and the clocks are now.
Limit link_limit(const Facts&);
Limit memory_limit(const Facts&);

struct FreeMemory {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};
// Makes the device current, and so its context, which itself takes some hundred MiB.
FreeMemory device_memory(int ordinal);

std::uint64_t l2_bytes(int ordinal);
bool has_managed_memory(int ordinal);

}  // namespace npgpu::cuda
