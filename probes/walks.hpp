// Walks through memory whose end is known without walking again: sums of known words, steps of a grid through a set,
// and chases in random order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"

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

// std::shuffle may give another order with another library; traces are to be comparable.
template <class Iterator> void shuffle(Iterator begin, Iterator end, std::mt19937_64& random) {
  for (auto left = static_cast<std::uint64_t>(end - begin); left > 1; --left)
    std::swap(begin[static_cast<std::ptrdiff_t>(left - 1)], begin[static_cast<std::ptrdiff_t>(random() % left)]);
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

// How a grid walks through a working set larger than itself, so that what each element must hold can be computed
// afterwards without walking again.
//
// A row is what the whole grid touches in one step. The set is cut to whole rows; in step s the grid is at row
// s * jump mod rows, and because jump has no divisor in common with rows, `rows` steps touch each row once. A block
// always meets the same columns, so no two blocks share an element.

// Arrays that an operation reads and writes, each as large as the set.
inline unsigned arrays_of(Operation op) { return op == Operation::triad ? 3 : op == Operation::copy ? 2 : 1; }
inline unsigned max_arrays_of(std::span<const ProbeStep> steps) {
  unsigned most = 1;
  for (const ProbeStep& step : steps) most = std::max(most, arrays_of(step.question.operation));
  return most;
}
// Times that an access's bytes cross: reads and writes counted.
inline unsigned crossings(Operation op) {
  if (op == Operation::triad) return 3;
  return op == Operation::rmw || op == Operation::copy ? 2 : 1;
}

struct Walk {
  std::uint64_t row_accesses = 0;  // blocks * threads * ilp
  std::uint64_t rows = 0;
  std::uint64_t jump = 1;
  std::uint64_t inverse = 1;  // of jump, modulo rows
  std::uint64_t row_of(std::uint64_t step) const { return step % rows * jump % rows; }
  // How often a row was touched in the first `steps` steps.
  std::uint64_t visits(std::uint64_t row, std::uint64_t steps) const {
    return steps / rows + (row * inverse % rows < steps % rows ? 1 : 0);
  }
};

// By Euclid: the x with a*x = 1 modulo m, which have no divisor in common.
inline std::uint64_t inverse_of(std::uint64_t a, std::uint64_t m) {
  std::int64_t r0 = static_cast<std::int64_t>(m), r1 = static_cast<std::int64_t>(a % m);
  std::int64_t x0 = 0, x1 = 1;
  while (r1 > 1) {
    const std::int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    x0 = std::exchange(x1, x0 - q * x1);
  }
  return static_cast<std::uint64_t>(x1 < 0 ? x1 + static_cast<std::int64_t>(m) : x1);
}

// Why this set cannot be walked through: it holds no row, or more than a check can number (2^31).
inline std::optional<std::string> refuses_walk(const Shape& shape) {
  constexpr std::uint64_t max_rows = std::uint64_t{1} << 31;
  const std::uint64_t row_bytes = std::uint64_t{shape.blocks} * shape.threads * shape.ilp * shape.access_bytes;
  if (row_bytes && shape.bytes >= row_bytes && shape.bytes / row_bytes <= max_rows) return std::nullopt;
  return "a working set of " + std::to_string(shape.bytes) + " bytes must hold 1 to " + std::to_string(max_rows) +
         " times the " + std::to_string(row_bytes) + " that blocks, threads and accesses in flight touch at once";
}

// Steps go on at least `apart_bytes` further, or around: where one step waits for the last, a neighbour's line must not
// have come with it. Throws Error(usage) where the set is refused.
inline Walk walk_of(const Shape& shape, std::uint64_t apart_bytes) {
  if (const auto why = refuses_walk(shape)) throw Error(ErrorKind::usage, *why);
  Walk walk;
  walk.row_accesses = std::uint64_t{shape.blocks} * shape.threads * shape.ilp;
  const std::uint64_t row_bytes = walk.row_accesses * shape.access_bytes;
  walk.rows = shape.bytes / row_bytes;
  walk.jump = (apart_bytes + row_bytes - 1) / row_bytes % walk.rows;
  if (walk.jump == 0) walk.jump = 1;
  while (std::gcd(walk.jump, walk.rows) != 1) ++walk.jump;
  walk.jump %= walk.rows;
  if (walk.rows == 1) walk.jump = 0;  // there is nowhere else
  walk.inverse = walk.rows == 1 ? 0 : inverse_of(walk.jump, walk.rows);
  return walk;
}

// A random order of 0 .. count-1 of which every place is computed by itself: threads can lay out a chase of any length
// in parallel, and where a walk ends is known without walking.

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
