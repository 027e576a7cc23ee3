// A random order of 0 .. count-1 of which every place is computed by itself: threads can lay out a chase of any length
// in parallel, and where a walk ends is known without walking.
#pragma once

#include <cstdint>

#include "netpipe/engine/everywhere.hpp"

namespace npgpu {

// A Feistel network of four rounds over the next even power of two, applied until the place is below count (Black and
// Rogaway 2002, cycle walking).
class Permutation {
 public:
  // count: 1 to 2^32.
  NPGPU_EVERYWHERE explicit Permutation(std::uint64_t count) : count_(count) {
    while ((std::uint64_t{1} << (2 * half_bits_)) < count) ++half_bits_;
  }
  NPGPU_EVERYWHERE std::uint64_t at(std::uint64_t place) const {
    do place = shuffled(place);
    while (place >= count_);
    return place;
  }
  std::uint64_t NPGPU_EVERYWHERE count() const { return count_; }
  unsigned half_bits() const { return half_bits_; }  // of a place, of which each round changes one half

 private:
  NPGPU_EVERYWHERE std::uint64_t shuffled(std::uint64_t place) const {
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << half_bits_) - 1);
    auto left = static_cast<std::uint32_t>(place >> half_bits_), right = static_cast<std::uint32_t>(place) & mask;
    for (std::uint32_t round = 1; round <= 4; ++round) {
      std::uint32_t mixed = (right + round * 0x9E3779B9u) * 0x85EBCA6Bu;
      mixed = (mixed ^ (mixed >> 15)) * 0xC2B2AE35u;
      const std::uint32_t next = left ^ ((mixed >> 11) & mask);
      left = right;
      right = next;
    }
    return (std::uint64_t{left} << half_bits_) | right;
  }

  std::uint64_t count_;
  unsigned half_bits_ = 1;
};

}  // namespace npgpu
