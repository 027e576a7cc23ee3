// Copies as cudaMemcpy makes them, in the default stream and without a stream: they are what is timed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "netpipe/devices/cuda/check.hpp"

namespace npgpu::cuda {

inline void copy_in(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
}
inline void copy_within(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "copying within the device");
}

}  // namespace npgpu::cuda
