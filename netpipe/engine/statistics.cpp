#include "npgpu/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <vector>

namespace npgpu {

double median(std::span<const double> values) {
  std::vector<double> v(values.begin(), values.end());
  const std::size_t half = v.size() / 2;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(half), v.end());
  const double upper = v[half];
  if (v.size() % 2 == 1) return upper;
  const double lower = *std::max_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(half));
  return lower + (upper - lower) / 2;
}

std::optional<Interval> median_interval(std::span<const double> values, double level) {
  // The number of values below the median is binomial(n, 1/2): the interval [x_(r), x_(n+1-r)] covers it
  // with probability 1 - 2 P(B <= r-1). r is the largest rank that still reaches the level.
  const auto n = static_cast<double>(values.size());
  const double tail = (1 - level) / 2;
  if (values.empty() || std::pow(0.5, n) > tail) return std::nullopt;
  const boost::math::binomial_distribution<double> below(n, 0.5);
  auto r = static_cast<std::size_t>(std::max(0.0, std::floor(boost::math::quantile(below, tail))));
  while (r > 0 && boost::math::cdf(below, static_cast<double>(r - 1)) > tail) --r;
  while (boost::math::cdf(below, static_cast<double>(r)) <= tail) ++r;
  if (r == 0) return std::nullopt;
  std::vector<double> v(values.begin(), values.end());
  std::sort(v.begin(), v.end());
  return Interval{v[r - 1], v[v.size() - r]};
}

}  // namespace npgpu
