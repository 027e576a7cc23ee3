// What the operands of collectives hold, and what results have to be. Operands of sums are whole numbers so small that
// every type holds every partial sum exactly (bf16 up to 256), in whatever order they are added; bytes that are only
// moved are arbitrary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/vocabulary/collective.hpp"

struct CUstream_st;  // of CUDA

#ifdef __CUDACC__
#define NPGPU_ON_BOTH __host__ __device__
#else
#define NPGPU_ON_BOTH
#endif

namespace npgpu::collectives {

// Operations that are captured in one graph; what is left of a trial is in graphs of one.
inline constexpr std::uint64_t operations_a_graph = 16;

// What decides which number an operand's element is.
struct Values {
  std::uint64_t seed = 0;
  DataType type = DataType::fp32;
  bool are_summed = false;
  std::uint32_t ranks = 0;
};

// A number of `rank` for its element `index`.
NPGPU_ON_BOTH constexpr std::uint32_t number_of(const Values& v, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t z = v.seed + (index * 1024 + rank + 1) * 0x9E3779B97F4A7C15;  // SplitMix64 (Steele, Lea and Flood 2014)
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  constexpr std::uint32_t most_of_threes = 85;
  if (!v.are_summed) return static_cast<std::uint32_t>(z);
  return static_cast<std::uint32_t>(z) & (v.ranks <= most_of_threes ? 3U : 1U);
}

// Elements of a result: those of one rank's operand, or sums of all ranks'.
struct Expected {
  static constexpr std::int32_t all = -1;
  std::uint64_t at = 0, count = 0;  // in the result
  std::int32_t rank = all;
  std::uint64_t first = 0;  // in the operand
};

// Elements of a rank's operand and result, and where these begin in one buffer if the operation is in place. 0: this
// rank has none.
struct Part {
  std::uint64_t operand = 0, result = 0;
  std::uint64_t operand_at = 0, result_at = 0;  // in place
  std::vector<Expected> expected{};
};
Part part_of(const Step<Collectives>&, std::uint64_t ranks, std::uint64_t rank);

// What of a result was wrong.
struct WrongElements {
  unsigned long long count = 0;
  unsigned long long first = ~0ULL;  // element of the result
  std::uint32_t found = 0, expected = 0;
};

// Sets `intact` of a trial's samples by what is wrong on each GPU, and says what is.
std::optional<std::string> verdict_of(const Step<Collectives>&, const std::vector<WrongElements>&,
                                      std::span<CollectiveSample>);

// ---- on a GPU, in stream order ----
void fill(const Values&, std::uint64_t rank, void* operand, std::uint64_t count, CUstream_st*);
// Adds what is wrong to *wrong, which is on the device.
void compare(const Values&, const Expected&, const void* result, WrongElements* wrong, CUstream_st*);

}  // namespace npgpu::collectives
