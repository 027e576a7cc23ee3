// What the matrices of a gemm hold, so that every element of the result is known without computing it the long way.
// C (m x n) = alpha * A (m x k) * B (k x n) + beta * C. Device code, too.
//
// Elements are small whole numbers that repeat every 64 rows and columns, so a sum over k is that of 64, some times,
// and of what is left. The last column of A and the first row of B repeat nothing: where rows or panels of columns
// change places, C shows it. Two kinds:
//
//   of one sign   0 to 7, and numbers of 12 binary digits in the last column and the first row, so that a library that
//                 rounds to fewer (TF32 and BF16 have 11 and 8) is found
//   of both       from -range to range, for types that hold or add fewer digits, and as random operands. Of each eight
//                 neighbours along k the products of the last four take back those of the first four, so that sums stay
//                 small however long they are; of 64 a number of B is left, once
//
// All sums are whole numbers that the type holds exactly: of one sign in whatever order they are added, of both where
// eights are added whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/vocabulary/probe.hpp"

#ifdef __CUDACC__
#define NPGPU_GEMM_BOTH __host__ __device__
#else
#define NPGPU_GEMM_BOTH
#endif

namespace npgpu::gemm {

constexpr std::uint32_t period = 64;
constexpr std::int32_t one_sign = -1;    // as a range
constexpr std::int32_t most_of_c = 511;  // of what C holds before the first product
constexpr std::int32_t most_factor = 8;  // of alpha, either way

// 0 to 7
NPGPU_GEMM_BOTH constexpr std::int32_t digit_left(std::uint32_t row, std::uint32_t column) {
  return static_cast<std::int32_t>((row % period * 2654435761u + column % period * 40503u) >> 9 & 7);
}
NPGPU_GEMM_BOTH constexpr std::int32_t digit_right(std::uint32_t row, std::uint32_t column) {
  return static_cast<std::int32_t>((row % period * 97u + column % period * 2246822519u) >> 11 & 7);
}
// Odd, 2049 to 4095: 12 binary digits.
NPGPU_GEMM_BOTH constexpr std::int32_t large(std::uint32_t place) {
  return static_cast<std::int32_t>(2049 + ((place * 2654435761u ^ place >> 7) >> 13 & 1023) * 2);
}
// From -most to most.
NPGPU_GEMM_BOTH constexpr std::int32_t within(std::uint32_t place, std::int32_t most) {
  place = (place ^ (place >> 15)) * 0x2c1b3c6du;
  place = (place ^ (place >> 12)) * 0x297a2d39u;
  place ^= place >> 15;
  return static_cast<std::int32_t>(place % static_cast<std::uint32_t>(2 * most + 1)) - most;
}

// The elements of A and B, wherever they lie in memory.
struct Elements {
  std::uint32_t k = 1;
  std::int32_t range = one_sign;  // 0: zeros only

  NPGPU_GEMM_BOTH constexpr std::int32_t small_left(std::uint32_t row, std::uint32_t column) const {
    if (range == one_sign) return digit_left(row, column);
    const std::uint32_t r = row % period, c = column % period, half = c % 8 / 4;
    const std::int32_t value = within(r * period + c - 4 * half, range);
    return half ? (range && c == 4 + r % 4 ? 1 : 0) - value : value;
  }
  NPGPU_GEMM_BOTH constexpr std::int32_t small_right(std::uint32_t row, std::uint32_t column) const {
    if (range == one_sign) return digit_right(row, column);
    const std::uint32_t r = row % period;
    return within(0x10000 + column % period * period + r - r % 8 / 4 * 4, range);
  }
  NPGPU_GEMM_BOTH constexpr std::int32_t edge_left(std::uint32_t row) const {
    return range == one_sign ? large(row) : within(0x20000 + row, range);
  }
  NPGPU_GEMM_BOTH constexpr std::int32_t edge_right(std::uint32_t column) const {
    return range == one_sign ? large(column + 1) : within(0x50000000 + column, range);
  }
  NPGPU_GEMM_BOTH constexpr std::int32_t left(std::uint32_t row, std::uint32_t column) const {
    return column == k - 1 ? edge_left(row) : small_left(row, column);
  }
  NPGPU_GEMM_BOTH constexpr std::int32_t right(std::uint32_t row, std::uint32_t column) const {
    return row == 0 ? edge_right(column) : small_right(row, column);
  }
};
Elements elements_of(DataType, Operands, std::uint32_t k);
// No sum of products is larger.
double largest_sum(const Elements&);
// What C holds before the first product.
NPGPU_GEMM_BOTH constexpr std::int32_t first_of_c(std::uint32_t row, std::uint32_t column) {
  return within(row * 65521u + column, most_of_c);
}

// Elements of A * B, from two tables of period * period: sums over `period` and over k % period.
struct Product {
  const std::int32_t* whole = nullptr;
  const std::int32_t* rest = nullptr;
  Elements of;

  NPGPU_GEMM_BOTH constexpr std::int64_t operator()(std::uint32_t row, std::uint32_t column) const {
    if (of.k == 1) return std::int64_t{of.edge_left(row)} * of.edge_right(column);
    const std::uint32_t at = row % period * period + column % period, last = of.k - 1;
    const std::int64_t small = std::int64_t{of.k / period} * whole[at] + rest[at];
    return small + std::int64_t{of.small_left(row, 0)} * (of.edge_right(column) - of.small_right(0, column)) +
           std::int64_t{of.edge_left(row) - of.small_left(row, last)} * of.small_right(last, column);
  }
};

// The tables: `whole`, then `rest`.
constexpr std::size_t table_elements = 2 * std::size_t{period} * period;
std::vector<std::int32_t> tables_of(const Elements&);
inline Product product_of(const std::int32_t* tables, const Elements& of) {
  return {tables, tables + std::size_t{period} * period, of};
}

// C = alpha * product + beta * C, so many times. C must not grow, and must differ from what it was before: beta is -1,
// 0 or 1, and alpha changes its sign where it must. After all, C holds the product once more than at first where they
// are odd, and twice where they are even.
struct Update {
  std::int32_t alpha = 1, beta = 0;
  std::uint64_t repeats = 1;

  // The sign of alpha in the i-th of them.
  constexpr std::int32_t sign(std::uint64_t i) const {
    if (beta == 0) return 1;
    const bool adds = i == 0 || (repeats - i) % 2 == 1, turns = beta < 0 && (repeats - 1 - i) % 2 == 1;
    return adds != turns ? 1 : -1;
  }
  // What an element becomes.
  NPGPU_GEMM_BOTH constexpr std::int64_t of(std::int64_t product, std::int64_t first) const {
    if (beta == 0) return alpha * product;
    const bool odd = repeats % 2 == 1;
    return (odd ? 1 : 2) * alpha * product + (beta < 0 && odd ? -first : first);
  }
};

// As they lie in memory, column by column; transposed: row by row. Real: float or double.
template <class Real> void fill_left(Real* a, const Elements&, std::uint32_t m, bool transposed = false);
template <class Real> void fill_right(Real* b, const Elements&, std::uint32_t n, bool transposed = false);
template <class Real> void fill_first(Real* c, std::uint32_t m, std::uint32_t n);
// "element 3, 7 of C is 12, not 13"; nothing if all of C is right.
template <class Real>
std::optional<std::string> wrong_element(const Real* c, std::uint32_t m, std::uint32_t n, const Elements&,
                                         const Update& = {});
std::string wrong_text(std::uint32_t row, std::uint32_t column, double found, double right);

}  // namespace npgpu::gemm
