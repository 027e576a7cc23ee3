#include "netpipe/model/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace npgpu {

namespace {

long double dot(const LongNumbers& a, const LongNumbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
}

void turn(LongNumbers& a, LongNumbers& b, long double cosine, long double sine) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double before = a[i];
    a[i] = cosine * before - sine * b[i];
    b[i] = sine * before + cosine * b[i];
  }
}

// A matrix whose columns are scaled to length 1 and then turned by a rotation until they are orthogonal.
struct Turned {
  LongNumbers scale;                           // what each column was divided by: its length, or 1
  std::vector<LongNumbers> columns, rotation;  // columns[k] = scaled matrix * rotation[k]
  LongNumbers squares;                         // of the lengths of columns, or 0 where they depend on the others

  Turned(std::size_t width, const LongNumbers& a) : scale(width), columns(width), rotation(width) {
    for (std::size_t j = 0; j < width; ++j) {
      for (std::size_t i = j; i < a.size(); i += width) columns[j].push_back(a[i]);
      const long double length = std::sqrt(dot(columns[j], columns[j]));
      scale[j] = length > 0 ? length : 1;
      for (long double& one : columns[j]) one /= scale[j];
      rotation[j].resize(width);
      rotation[j][j] = 1;
    }
    constexpr int most_sweeps = 60;  // five or six are usual
    for (int sweep = 0; sweep < most_sweeps && turn_pairs();) ++sweep;
    drop_dependent();
  }

 private:
  bool turn_pairs() {  // whether any was not yet orthogonal
    bool turned = false;
    const long double rounding =
        std::numeric_limits<long double>::epsilon() * static_cast<long double>(columns[0].size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      for (std::size_t j = i + 1; j < columns.size(); ++j) {
        const long double first = dot(columns[i], columns[i]), second = dot(columns[j], columns[j]);
        const long double both = dot(columns[i], columns[j]);
        if (!(std::abs(both) > rounding * std::sqrt(first * second))) continue;
        const long double zeta = (second - first) / (2 * both);
        const long double tangent = std::copysign(1 / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
        const long double cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn(columns[i], columns[j], cosine, cosine * tangent);
        turn(rotation[i], rotation[j], cosine, cosine * tangent);
        turned = true;
      }
    return turned;
  }
  void drop_dependent() {
    for (const LongNumbers& column : columns) squares.push_back(dot(column, column));
    const long double largest = *std::max_element(squares.begin(), squares.end());
    for (long double& square : squares)
      if (square <= 1e-30L * largest) square = 0;
  }
};

}  // namespace

LongNumbers scaled_least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y) {
  const Turned turned(columns, a);
  LongNumbers x(columns);
  for (std::size_t k = 0; k < columns; ++k) {
    if (turned.squares[k] == 0) continue;
    const long double part = dot(turned.columns[k], y) / turned.squares[k];
    for (std::size_t j = 0; j < columns; ++j) x[j] += part * turned.rotation[k][j];
  }
  for (std::size_t j = 0; j < columns; ++j) x[j] /= turned.scale[j];
  return x;
}

LongNumbers errors_of_least_squares(std::size_t columns, const LongNumbers& a, const LongNumbers& y,
                                    const LongNumbers& x) {
  long double left = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto row = a.begin() + static_cast<std::ptrdiff_t>(i * columns);
    const long double missed = std::inner_product(x.begin(), x.end(), row, 0.0L) - y[i];
    left += missed * missed;
  }
  const long double variance = left / static_cast<long double>(y.size() - columns);
  const Turned turned(columns, a);
  LongNumbers errors;
  for (std::size_t j = 0; j < columns; ++j) {
    long double square = 0;  // of the length of a row of the pseudo-inverse
    for (std::size_t k = 0; k < columns; ++k)
      if (turned.squares[k] != 0) square += turned.rotation[k][j] * turned.rotation[k][j] / turned.squares[k];
    errors.push_back(std::sqrt(variance * square) / turned.scale[j]);
  }
  return errors;
}

}  // namespace npgpu
