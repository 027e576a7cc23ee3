// What a simulated warp's accesses cost, counted lane by lane from how the device is built. The model's laws
// (npgpu/laws.hpp) are formulas for hardware as it is taught; here nothing but the device's own figures counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace npgpu::simulated {

constexpr std::uint32_t word_bytes = 4;

// Cycles of one warp's access to shared memory, `stride` words apart: as many lanes as there are banks are served at
// once, but for those that want different rows of a bank.
inline std::uint32_t shared_cycles(std::uint32_t stride, std::uint32_t lanes, std::uint32_t banks,
                                   std::uint32_t bank_bytes) {
  std::uint32_t cycles = 0;
  for (std::uint32_t begin = 0; begin < lanes; begin += banks) {
    std::map<std::uint64_t, std::set<std::uint64_t>> rows;  // by bank
    for (std::uint32_t lane = begin; lane < std::min(begin + banks, lanes); ++lane) {
      const std::uint64_t cell = std::uint64_t{lane} * stride * word_bytes / bank_bytes;
      rows[cell % banks].insert(cell / banks);
    }
    std::size_t most = 0;
    for (const auto& [bank, its] : rows) most = std::max(most, its.size());
    cycles += static_cast<std::uint32_t>(most);
  }
  return cycles;
}

// Different pieces of memory, so many bytes each, that a warp's words lie in.
inline std::uint32_t pieces(std::uint32_t stride, std::uint32_t offset_bytes, std::uint32_t lanes,
                            std::uint32_t piece_bytes) {
  std::set<std::uint64_t> all;
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    all.insert((offset_bytes + std::uint64_t{lane} * stride * word_bytes) / piece_bytes);
  return static_cast<std::uint32_t>(all.size());
}

// Ways of a branch that a group of so many threads takes one after the other, on average over the groups of a block.
inline double ways_taken(std::uint32_t stride, std::uint32_t ways, std::uint32_t threads, std::uint32_t group) {
  double sum = 0, groups = 0;
  for (std::uint32_t begin = 0; begin < threads; begin += group, ++groups) {
    std::set<std::uint32_t> taken;
    for (std::uint32_t t = begin; t < std::min(begin + group, threads); ++t)
      taken.insert(stride ? t / stride % ways : 0);
    sum += static_cast<double>(taken.size());
  }
  return sum / groups;
}

// Warps that have a lane at work, summed over the passes in which a block adds its words up. `neighbours`: thread t
// adds word t + s while s grows and t is a multiple of 2s; otherwise the first half adds the second, again and again.
inline std::uint32_t reduction_warps(std::uint32_t threads, bool neighbours) {
  constexpr std::uint32_t lanes = 32;
  std::uint32_t sum = 0;
  for (std::uint32_t s = 1; s < threads; s *= 2)
    sum += neighbours ? (threads + std::max(2 * s, lanes) - 1) / std::max(2 * s, lanes) : (s + lanes - 1) / lanes;
  return sum;
}

}  // namespace npgpu::simulated
