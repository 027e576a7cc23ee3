// What probe tensor asks, and the matrices of small whole numbers that tensor cores multiply: every product and sum is
// exact in every type, so that a result is right or wrong. Host and device code.
//
// A kernel multiplies A0 * B and A1 * B by turns and adds all products to D. A1 is chosen so that a pair of them leaves
// little: A0 + A1 is 1 in one place of each row. Each pair then adds that row of B to D, whose numbers stay exact for
// millions of pairs, while the cores work on dense operands. FP8's sums lose bits beyond some 2^13 on Hopper, so its A1
// is -A0 and D comes back after each pair. A last product A0 * B, after the clock, shows in every type that the cores
// multiplied.
#pragma once

#include <cstdint>

#include "netpipe/engine/copy_cases.hpp"
#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::tensor {

constexpr unsigned group_rows = 64, columns = 256;  // of A and of B; mma.sync takes 16 and 8 of them at a time
constexpr unsigned warp_rows = 16, warp_columns = 8;

// Elements of a row of A, and of a column of B, that one instruction multiplies: 32 bytes of all types but fp64.
constexpr unsigned depth(DataType type) {
  switch (type) {
    case DataType::tf32: return 8;
    case DataType::fp8:
    case DataType::int8: return 32;
    default: return 16;
  }
}

NPGPU_EVERYWHERE constexpr std::uint32_t scattered(std::uint32_t i) {
  i = (i ^ (i >> 15)) * 0x2c1b3c6du;
  i = (i ^ (i >> 12)) * 0x297a2d39u;
  return i ^ (i >> 15);
}
// The numbers of a product: A's from -a to a, and B's from -b to b.
struct Range {
  int a = 3, b = 2;
  bool grows = true;  // D, with every pair
};
// All products and their sums are exact: of random numbers with as many bits as a type has for that.
NPGPU_EVERYWHERE constexpr Range range_of(Operands operands, DataType type) {
  if (operands == Operands::zeros) return {0, 0, false};
  if (operands != Operands::random) return {3, 2, type != DataType::fp8};
  switch (type) {
    case DataType::fp8: return {15, 15, false};
    case DataType::int8: return {127, 127, false};
    case DataType::tf32: return {1023, 1023, false};
    case DataType::fp64: return {4095, 4095, false};
    default: return {255, 255, false};
  }
}
NPGPU_EVERYWHERE constexpr int within(std::uint32_t place, int most) {
  return static_cast<int>(scattered(place) % static_cast<std::uint32_t>(2 * most + 1)) - most;
}
NPGPU_EVERYWHERE constexpr int a0(unsigned row, unsigned k, const Range& range = {}) {
  return within(row * 64 + k, range.a);
}
NPGPU_EVERYWHERE constexpr int b(unsigned k, unsigned column, const Range& range = {}) {
  return within(0x10000 + column * 64 + k, range.b);
}
NPGPU_EVERYWHERE constexpr int a1(unsigned row, unsigned k, unsigned depth, const Range& range) {
  return (range.grows && k == row % depth ? 1 : 0) - a0(row, k, range);
}
// D's first value, of a thread's i-th element.
NPGPU_EVERYWHERE constexpr int first(unsigned thread, unsigned i) { return static_cast<int>((thread + i) % 61); }
// So that two elements that change places are noticed.
NPGPU_EVERYWHERE constexpr std::uint32_t weight(unsigned i) { return 2 * i + 1; }
// The largest number that a pair adds to an element.
constexpr unsigned growth = 2;

// An element of D: the i-th of a lane, in tiles of 8 columns; of a warp's 16 rows.
NPGPU_EVERYWHERE constexpr unsigned row_of(unsigned lane, unsigned i) { return lane / 4 + 8 * (i % 4 / 2); }
NPGPU_EVERYWHERE constexpr unsigned column_of(unsigned lane, unsigned i) {
  return 8 * (i / 4) + 2 * (lane % 4) + i % 2;
}

// What a kernel is given.
struct Tiles {
  const void *a0, *a1, *b;  // rows of A, columns of B: depth() elements each, side by side
  std::uint32_t repeats;    // of pairs_of() pairs
  std::uint32_t* results;   // one a thread: the sum of its elements, each times its weight
};
NPGPU_EVERYWHERE constexpr unsigned pairs_of(Operation operation) { return operation == Operation::wgmma ? 4 : 16; }

// What probe tensor asks. GPUs and simulated devices share it.

// mma.sync of each type, then wgmma, which has no fp64.
std::vector<ProbeCase> cases(const std::string& device);

// The corners, where a warp (mma) or four (wgmma) stand for one lane; of mma also by chains of a warp, `ilp`. wgmma's
// `ilp` is 1, because its products are queued, and so is that of fp64, of which more chains need more registers than a
// thread of a full block has.
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
// One-One, and the largest All-All.
std::vector<Shape> default_shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// Operations of all threads in one repeat, two a multiply-add.
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::tensor
