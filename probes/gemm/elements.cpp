#include "probes/gemm/elements.hpp"

#include <fmt/format.h>

namespace npgpu::gemm {

namespace {

std::int32_t range_of(DataType type, Operands operands) {
  if (operands == Operands::zeros) return 0;
  if (operands != Operands::random) return type == DataType::fp32 || type == DataType::fp64 ? one_sign : 3;
  switch (type) {  // as many digits as the type holds, and adds
    case DataType::fp8: return 15;
    case DataType::int8: return 126;
    case DataType::tf32: return 1023;
    case DataType::fp64: return 4095;
    default: return 255;
  }
}

}  // namespace

Elements elements_of(DataType type, Operands operands, std::uint32_t k) { return {k, range_of(type, operands)}; }

double largest_sum(const Elements& e) {
  const double k = e.k;
  if (e.range == one_sign) return 49 * k + 2 * 7 * 4095;
  if (e.range == 0) return 0;
  const double most = e.range + 1;
  return (k / period + 1) * most + 10 * most * most;  // what is left of 64s; halves of an eight, and the edges
}

std::vector<std::int32_t> tables_of(const Elements& e) {
  std::vector<std::int32_t> tables(table_elements);
  for (std::uint32_t row = 0; row < period; ++row)
    for (std::uint32_t column = 0; column < period; ++column)
      for (std::uint32_t i = 0; i < period; ++i) {
        const std::int32_t one = e.small_left(row, i) * e.small_right(i, column);
        const std::uint32_t at = row * period + column;
        tables[at] += one;
        if (i < e.k % period) tables[period * period + at] += one;
      }
  return tables;
}

namespace {

// Calls element(row, column) in the order in which elements lie in memory.
template <class Real, class Element>
void fill(Real* at, std::uint32_t rows, std::uint32_t columns, bool transposed, Element element) {
  for (std::uint32_t outer = 0; outer < (transposed ? rows : columns); ++outer)
    for (std::uint32_t inner = 0; inner < (transposed ? columns : rows); ++inner)
      *at++ = static_cast<Real>(transposed ? element(outer, inner) : element(inner, outer));
}

}  // namespace

template <class Real> void fill_left(Real* a, const Elements& e, std::uint32_t m, bool transposed) {
  fill(a, m, e.k, transposed, [&](std::uint32_t row, std::uint32_t column) { return e.left(row, column); });
}

template <class Real> void fill_right(Real* b, const Elements& e, std::uint32_t n, bool transposed) {
  fill(b, e.k, n, transposed, [&](std::uint32_t row, std::uint32_t column) { return e.right(row, column); });
}

template <class Real> void fill_first(Real* c, std::uint32_t m, std::uint32_t n) { fill(c, m, n, false, first_of_c); }

std::string wrong_text(std::uint32_t row, std::uint32_t column, double found, double right) {
  return fmt::format("element {}, {} of C is {}, not {}", row, column, found, right);
}

template <class Real>
std::optional<std::string> wrong_element(const Real* c, std::uint32_t m, std::uint32_t n, const Elements& e,
                                         const Update& update) {
  const std::vector<std::int32_t> tables = tables_of(e);
  const Product product = product_of(tables.data(), e);
  for (std::uint32_t column = 0; column < n; ++column)
    for (std::uint32_t row = 0; row < m; ++row, ++c) {
      const auto right = static_cast<Real>(update.of(product(row, column), first_of_c(row, column)));
      if (!(*c == right)) return wrong_text(row, column, static_cast<double>(*c), static_cast<double>(right));
    }
  return std::nullopt;
}

template void fill_left(float*, const Elements&, std::uint32_t, bool);
template void fill_left(double*, const Elements&, std::uint32_t, bool);
template void fill_right(float*, const Elements&, std::uint32_t, bool);
template void fill_right(double*, const Elements&, std::uint32_t, bool);
template void fill_first(float*, std::uint32_t, std::uint32_t);
template void fill_first(double*, std::uint32_t, std::uint32_t);
template std::optional<std::string> wrong_element(const float*, std::uint32_t, std::uint32_t, const Elements&,
                                                  const Update&);
template std::optional<std::string> wrong_element(const double*, std::uint32_t, std::uint32_t, const Elements&,
                                                  const Update&);

}  // namespace npgpu::gemm
