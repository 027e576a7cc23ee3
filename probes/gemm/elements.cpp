#include "probes/gemm/elements.hpp"

#include <fmt/format.h>

namespace npgpu::gemm {

std::vector<std::uint32_t> tables_of(std::uint32_t k) {
  std::vector<std::uint32_t> tables(table_elements);
  for (std::uint32_t row = 0; row < period; ++row)
    for (std::uint32_t column = 0; column < period; ++column)
      for (std::uint32_t i = 0; i < period; ++i) {
        const std::uint32_t one = small_left(row, i) * small_right(i, column), at = row * period + column;
        tables[at] += one;
        if (i < k % period) tables[period * period + at] += one;
      }
  return tables;
}

template <class Real> void fill_left(Real* a, std::uint32_t m, std::uint32_t k) {
  for (std::uint32_t column = 0; column < k; ++column)
    for (std::uint32_t row = 0; row < m; ++row) *a++ = static_cast<Real>(left_element(row, column, k));
}

template <class Real> void fill_right(Real* b, std::uint32_t k, std::uint32_t n) {
  for (std::uint32_t column = 0; column < n; ++column)
    for (std::uint32_t row = 0; row < k; ++row) *b++ = static_cast<Real>(right_element(row, column));
}

std::string wrong_text(std::uint32_t row, std::uint32_t column, double found, double right) {
  return fmt::format("element {}, {} of C is {}, not {}", row, column, found, right);
}

template <class Real>
std::optional<std::string> wrong_element(const Real* c, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  const std::vector<std::uint32_t> tables = tables_of(k);
  const Product product = product_of(tables.data(), k);
  for (std::uint32_t column = 0; column < n; ++column)
    for (std::uint32_t row = 0; row < m; ++row, ++c)
      if (const auto right = static_cast<Real>(product(row, column)); !(*c == right))
        return wrong_text(row, column, static_cast<double>(*c), static_cast<double>(right));
  return std::nullopt;
}

template void fill_left(float*, std::uint32_t, std::uint32_t);
template void fill_left(double*, std::uint32_t, std::uint32_t);
template void fill_right(float*, std::uint32_t, std::uint32_t);
template void fill_right(double*, std::uint32_t, std::uint32_t);
template std::optional<std::string> wrong_element(const float*, std::uint32_t, std::uint32_t, std::uint32_t);
template std::optional<std::string> wrong_element(const double*, std::uint32_t, std::uint32_t, std::uint32_t);

}  // namespace npgpu::gemm
