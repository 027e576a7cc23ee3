// What kernels that walk in circles through known words must have summed, without walking again.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef __CUDACC__
#define NPGPU_ON_BOTH __host__ __device__
#else
#define NPGPU_ON_BOTH
#endif

namespace npgpu {

// Word i of memory that patterns are read from; odd, so that 2^32 words in a row differ.
NPGPU_ON_BOTH constexpr std::uint32_t pattern_word(std::uint64_t i) {
  return 0x9E3779B1u * static_cast<std::uint32_t>(i);
}

// 0 + 1 + ... + (count-1), modulo 2^64.
constexpr std::uint64_t sum_below(std::uint64_t count) {
  return count % 2 == 0 ? count / 2 * (count - 1) : count * ((count - 1) / 2);
}

// The sum of `count` numbers first, first+1, ... modulo `size`, itself modulo 2^64. `first` is below `size`.
constexpr std::uint64_t sum_of_cycle(std::uint64_t first, std::uint64_t count, std::uint64_t size) {
  const std::uint64_t part = count % size, straight = std::min(part, size - first), wrapped = part - straight;
  return count / size * sum_below(size) + straight * first + sum_below(straight) + sum_below(wrapped);
}

}  // namespace npgpu
