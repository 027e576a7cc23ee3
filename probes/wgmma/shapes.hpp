// Products of a warp group (wgmma) by the columns of B, `n`: what the probe asks, and its numbers. Host and device
// code.
//
//   wgmma         of 64 rows by n columns and 32 bytes of depth
//   wgmma-fp16    the same with sums in fp16
//   wgmma-sparse  of twice the depth: of A's four neighbours the first two are there, the others zero and left out.
//                 Operations are counted as if all were there
//   dependent     each product is waited for before the next, which adds to the same sums
//   streaming     products of eight are handed over while eight others are under way
//   shared, registers: where A comes from; B is in shared memory
//
// A repeat is eight products with A, and the next one eight with -A: sums come back, and are exact in every type. A
// last product, after the clock, shows in all of them that the cores multiplied.
#pragma once

#include "probes/tensor/tiles.hpp"

namespace npgpu::wgmma {

constexpr std::uint32_t group_threads = 128, most_groups = 2, rows = tensor::group_rows, most_columns = 256;
constexpr std::uint32_t products = 8;  // of a repeat

// Numbers of A in a row: those that are there. And rows of B.
constexpr unsigned kept(DataType type) { return tensor::depth(type); }
constexpr unsigned depth(Operation operation, DataType type) {
  return tensor::depth(type) * (operation == Operation::wgmma_sparse ? 2 : 1);
}
// The row of B that A's j-th number multiplies.
constexpr unsigned row_of_b(Operation operation, unsigned j) {
  return operation == Operation::wgmma_sparse ? j / 2 * 4 + j % 2 : j;
}
// Nine products' sums stay below 2^11 with sums in fp16, 2^13 of fp8, and 2^24 of the others.
constexpr tensor::Range range_of(Operands operands, Operation operation, DataType type) {
  if (operands == Operands::zeros) return {0, 0};
  if (operands != Operands::random || operation == Operation::wgmma_fp16) return {3, 2};
  return type == DataType::fp8    ? tensor::Range{7, 7}
         : type == DataType::int8 ? tensor::Range{127, 127}
                                  : tensor::Range{255, 255};
}

std::vector<ProbeCase> cases(const std::string& device);
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
// The columns that there is a kernel for.
std::vector<std::uint32_t> columns_of(const ProbeCase&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);
double operations_of_product(const ProbeCase&, const Shape&);
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::wgmma
