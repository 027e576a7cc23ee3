// The memory test's kernels for CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "npgpu/vocabulary/load.hpp"

namespace npgpu::cuda {

struct WrongWordRecord {
  std::uint64_t address, expected, found, again;  // again: what a second read brought
};
struct WrongWords {
  static constexpr unsigned most = 100;
  unsigned long long count;  // of all
  WrongWordRecord words[most];
};

// So many words from `memory` on, of which the first is word `first` of all; in stream order.
void write_words(MemoryPattern, std::uint64_t number, void* memory, std::uint64_t words, std::uint64_t first,
                 cudaStream_t);
// Adds what is not as it was written to *wrong, which is on the device.
void compare_words(MemoryPattern, std::uint64_t number, const void* memory, std::uint64_t words, std::uint64_t first,
                   WrongWords* wrong, cudaStream_t);

}  // namespace npgpu::cuda
