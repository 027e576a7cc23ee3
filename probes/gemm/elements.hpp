// What the matrices of a gemm hold, so that every element of the product is known without computing it the long way.
// C (m x n) = A (m x k) * B (k x n). Device code, too.
//
// Elements are small whole numbers that repeat every 64 rows and columns, so a sum over k is that of 64, some times,
// and of what is left. The last column of A and the first row of B repeat nothing: where rows or panels of columns
// change places, C shows it. Their numbers have 12 binary digits, so that a library that rounds to fewer (TF32 and BF16
// have 11 and 8) is found. All sums are whole numbers that fp32 holds exactly, in whatever order they are added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#ifdef __CUDACC__
#define NPGPU_GEMM_BOTH __host__ __device__
#else
#define NPGPU_GEMM_BOTH
#endif

namespace npgpu::gemm {

constexpr std::uint32_t period = 64;
// 49 k + 2 * 7 * 4095 stays below 2^24, and below 2^32.
constexpr std::uint32_t max_k_fp32 = 262144, max_k_fp64 = 67108864;

// 0 to 7
NPGPU_GEMM_BOTH constexpr std::uint32_t small_left(std::uint32_t row, std::uint32_t column) {
  return (row % period * 2654435761u + column % period * 40503u) >> 9 & 7;
}
NPGPU_GEMM_BOTH constexpr std::uint32_t small_right(std::uint32_t row, std::uint32_t column) {
  return (row % period * 97u + column % period * 2246822519u) >> 11 & 7;
}
// Odd, 2049 to 4095: 12 binary digits.
NPGPU_GEMM_BOTH constexpr std::uint32_t large(std::uint32_t place) {
  return 2049 + ((place * 2654435761u ^ place >> 7) >> 13 & 1023) * 2;
}

NPGPU_GEMM_BOTH constexpr std::uint32_t left_element(std::uint32_t row, std::uint32_t column, std::uint32_t k) {
  return column == k - 1 ? large(row) : small_left(row, column);
}
NPGPU_GEMM_BOTH constexpr std::uint32_t right_element(std::uint32_t row, std::uint32_t column) {
  return row == 0 ? large(column + 1) : small_right(row, column);
}

// Elements of C, from two tables of period * period: sums over `period` and over k % period.
struct Product {
  const std::uint32_t* whole = nullptr;
  const std::uint32_t* rest = nullptr;
  std::uint32_t k = 0;

  NPGPU_GEMM_BOTH constexpr std::uint32_t operator()(std::uint32_t row, std::uint32_t column) const {
    if (k == 1) return large(row) * large(column + 1);
    const std::uint32_t at = row % period * period + column % period, last = k - 1;
    const std::uint32_t small = k / period * whole[at] + rest[at];
    return small + small_left(row, 0) * (right_element(0, column) - small_right(0, column)) +
           (left_element(row, last, k) - small_left(row, last)) * small_right(last, column);
  }
};

// The tables: `whole`, then `rest`.
constexpr std::size_t table_elements = 2 * std::size_t{period} * period;
std::vector<std::uint32_t> tables_of(std::uint32_t k);
inline Product product_of(const std::uint32_t* tables, std::uint32_t k) {
  return {tables, tables + std::size_t{period} * period, k};
}

// Column by column. Real: float or double.
template <class Real> void fill_left(Real* a, std::uint32_t m, std::uint32_t k);
template <class Real> void fill_right(Real* b, std::uint32_t k, std::uint32_t n);
// "element 3, 7 of C is 12, not 13"; nothing if all of C is right.
template <class Real>
std::optional<std::string> wrong_element(const Real* c, std::uint32_t m, std::uint32_t n, std::uint32_t k);
std::string wrong_text(std::uint32_t row, std::uint32_t column, double found, double right);

}  // namespace npgpu::gemm
