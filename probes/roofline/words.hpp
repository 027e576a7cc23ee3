// What probe roofline's memory holds, and what operations on it must leave, so that no step has to be done again to
// check a run. Host and device code.
//
// fp32, fp64  Elements are -1, and one of 64 is 1, without a pattern. A multiply-add is x = x*v + v, as probe compute
//             has it: v = 1 adds 1 to x, and v = -1, taken twice, changes nothing. So an element that is taken n times,
//             n even, adds n or nothing. An element that is taken once is added: x = v*1 + x.
// fp16        Elements are whole numbers from -3 to 3. Rows of A are multiplied with two B by turns, and A*B0 + A*B1
// adds
//             one element of A to one of D. What is multiplied once has B0 alone.
//
// All sums are exact, and do not depend on which thread read what: the sum over all threads is that over all words,
// each as often as it was read. Chains have weights, so that an element in the wrong chain is noticed.
#pragma once

#include <cstdint>

#include "netpipe/engine/everywhere.hpp"
#include "npgpu/probe.hpp"

namespace npgpu::roofline {

constexpr std::uint32_t chains = 8, tiles = 4;  // of a thread, and of a warp: each access is a tile of A
constexpr std::uint32_t depth = 16, columns = 8;

NPGPU_EVERYWHERE constexpr std::uint32_t scattered(std::uint32_t i) {
  i = (i ^ (i >> 16)) * 0x7feb352du;
  i = (i ^ (i >> 15)) * 0x846ca68bu;
  return i ^ (i >> 16);
}
NPGPU_EVERYWHERE constexpr std::int64_t weight(std::uint32_t chain) { return 2 * chain + 1; }
// Of the i-th element of memory.
NPGPU_EVERYWHERE constexpr int sign(std::uint64_t i) { return scattered(static_cast<std::uint32_t>(i)) % 64 ? -1 : 1; }
NPGPU_EVERYWHERE constexpr int small(std::uint64_t i) {
  return static_cast<int>(scattered(static_cast<std::uint32_t>(i)) % 7) - 3;
}
NPGPU_EVERYWHERE constexpr int b0(std::uint32_t k, std::uint32_t column) {
  return static_cast<int>(scattered(0x10000 + column * depth + k) % 5) - 2;
}
NPGPU_EVERYWHERE constexpr int b1(std::uint32_t k, std::uint32_t column) {
  return (column == k % columns ? 1 : 0) - b0(k, column);
}
// Before the first step, of a thread's i-th chain; of a lane's elements of its i-th tile.
NPGPU_EVERYWHERE constexpr int first(std::uint32_t thread, std::uint32_t i) {
  return static_cast<int>(thread % 16 + i);
}

// What operations leave: the sum of all chains, and that of the words that none of them takes.
struct Total {
  std::int64_t weighted = 0;
  std::uint64_t added = 0;

  bool operator==(const Total&) const = default;
};

// Where a thread meets a word: a step is four rows of 32 lanes, a lane has four words of each.
struct Place {
  std::uint32_t access, lane, word;
};
NPGPU_EVERYWHERE constexpr Place place_of(std::uint64_t word) {
  const auto at = static_cast<std::uint32_t>(word);
  return {at / 128 % 4, at / 4 % 32, at % 4};
}

// Of `elements` in a step, `operations` multiply-adds: what the e-th one adds to its chain.
NPGPU_EVERYWHERE constexpr std::int64_t term(std::uint32_t e, std::uint32_t elements, std::uint32_t operations, int v) {
  const std::int64_t times = operations <= elements ? 1 : operations / elements;
  return weight(e % chains) * (operations <= elements ? v : v > 0 ? times : 0);
}
// An element of a tile of A in column k, of which a step makes so many products.
NPGPU_EVERYWHERE constexpr std::int64_t term_of_tile(std::uint32_t tile, std::uint32_t k, std::uint32_t products,
                                                     int v) {
  if (products > tiles) return weight(tile) * (products / tiles / 2) * v;  // b0 + b1 is 1 in one column
  int columns_sum = 0;
  for (std::uint32_t c = 0; c < columns; ++c) columns_sum += b0(k, c);
  return weight(tile) * columns_sum * v;
}
// The column of A in which a lane has the h-th half of its i-th word (PTX ISA, mma.m16n8k16).
NPGPU_EVERYWHERE constexpr std::uint32_t column_of(std::uint32_t lane, std::uint32_t word, std::uint32_t h) {
  return 2 * (lane % 4) + h + 8 * (word / 2);
}

}  // namespace npgpu::roofline
