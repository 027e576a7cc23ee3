#include "npgpu/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "netpipe/engine/distributions.hpp"

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
  // with probability 1 - 2 P(B <= r-1).
  const std::size_t n = values.size();
  if (n == 0 || std::pow(0.5, static_cast<double>(n)) > (1 - level) / 2) return std::nullopt;
  const auto coverage = [&](std::size_t r) { return 1 - 2 * heads_at_most(static_cast<double>(r - 1), n); };
  // r is the last that covers enough; the quantile is it, or one off.
  auto r = static_cast<std::size_t>(std::max(1.0, std::floor(heads_quantile((1 - level) / 2, n))));
  while (r > 1 && coverage(r) < level) --r;
  while (2 * (r + 1) <= n && coverage(r + 1) >= level) ++r;
  std::vector<double> v(values.begin(), values.end());
  std::sort(v.begin(), v.end());
  Interval interval{v[r - 1], v[n - r]};
  if (2 * (r + 1) > n) return interval;
  // Hettmansperger & Sheather 1986, exact for double exponential values and near it for others.
  const double too_much = (coverage(r) - level) / (coverage(r) - coverage(r + 1));
  const double of_all = static_cast<double>(n), of_r = static_cast<double>(r);
  const double inwards = (of_all - of_r) * too_much / (of_r + (of_all - 2 * of_r) * too_much);
  interval.low += inwards * (v[r] - v[r - 1]);
  interval.high -= inwards * (v[n - r] - v[n - r - 1]);
  return interval;
}

namespace {

// Few visits: their medians are taken for values of a lognormal distribution.
std::optional<Interval> t_interval(std::span<const double> values, double around, double level) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) {
    if (!(v > 0)) return std::nullopt;
    mean += std::log(v) / n;
  }
  for (const double v : values) squares += (std::log(v) - mean) * (std::log(v) - mean);
  const double half = student_quantile((1 + level) / 2, n - 1) * std::sqrt(squares / (n - 1) / n);
  return Interval{std::min(around, std::exp(mean - half)), std::max(around, std::exp(mean + half))};
}

}  // namespace

double variance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return values.size() < 2 ? not_measured : squares / (n - 1);
}

namespace {

struct ErrorOf {
  double squared = 0;  // variance of the median; NaN from fewer than two values
  double freedom = 0;

  ErrorOf(std::span<const double> values, const UsualSpread& usual) {
    constexpr double of_median = 1.5708;  // over that of the mean, of many normal values: pi / 2
    const auto n = static_cast<double>(values.size());
    const double own = variance(values), own_freedom = n - 1;
    freedom = own_freedom + usual.freedom;
    squared = of_median / n * std::max(own, (own_freedom * own + usual.freedom * usual.variance) / freedom);
  }
  double share_of_freedom() const { return squared * squared / freedom; }
};

}  // namespace

MedianDifference median_difference(std::span<const double> a, std::span<const double> b, double known_variance,
                                   const std::array<UsualSpread, 2>& usual, double level) {
  MedianDifference d;
  if (a.empty() || b.empty()) return d;
  d.value = median(b) - median(a);
  if (a.size() < 2 || b.size() < 2) return d;
  const ErrorOf of_a(a, usual[0]), of_b(b, usual[1]);
  const double squared = of_a.squared + of_b.squared + known_variance;
  d.error = std::sqrt(squared);
  d.freedom = squared * squared / (of_a.share_of_freedom() + of_b.share_of_freedom());
  // Without a spread, or with one that is too small for its square.
  if (std::isnan(d.freedom)) d.freedom = std::numeric_limits<double>::infinity();
  d.low = d.high = d.value;
  d.p = d.value == 0 ? 1 : 0;
  if (!(squared > 0)) return d;
  const double half = student_quantile((1 + level) / 2, d.freedom) * d.error;
  d.low -= half;
  d.high += half;
  d.p = student_p(d.value / d.error, d.freedom);
  return d;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!std::isnan(p[i])) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> raised(p.begin(), p.end());
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    least = std::max(least, std::min(1.0, p[order[rank]] * static_cast<double>(order.size() - rank)));
    raised[order[rank]] = least;
  }
  return raised;
}

Estimate median_over_visits(const ByVisit& visits, std::string unit) {
  constexpr double level = 0.95;
  std::vector<double> medians;
  const std::vector<double>* only = nullptr;
  for (const auto& values : visits)
    if (!values.empty()) {
      medians.push_back(median(values));
      only = &values;
    }
  Estimate e;
  e.unit = std::move(unit);
  if (medians.empty()) {
    e.method = "no usable trial";
    return e;
  }
  e.value = median(medians);
  std::optional<Interval> interval;
  if (medians.size() == 1) {
    interval = median_interval(*only, level);
    e.method = interval ? "median, 95 % interval from interpolated order statistics, of one visit"
                        : "median of one visit; too few trials for an interval";
  } else if ((interval = median_interval(medians, level))) {
    e.method = fmt::format("median of {} visits, 95 % interval from interpolated order statistics", medians.size());
  } else {
    interval = t_interval(medians, e.value, level);
    e.method = fmt::format("median of {} visits, {}", medians.size(),
                           interval ? "95 % interval from Student's t" : "without an interval: some are not positive");
  }
  if (interval) {
    e.low = interval->low;
    e.high = interval->high;
  }
  return e;
}

double in_quadrature(double a, double b) { return std::sqrt(a * a + b * b); }

double half_width(const Estimate& e) { return (e.high - e.low) / 2 / std::abs(e.value); }

Estimate with_drift(Estimate e, double share) {
  if (!(share > 0) || std::isnan(e.low)) return e;
  const double more = of_95_percent * share;
  if (e.low > 0) {  // as what is twice as long and what is half as long are equally far
    e.low = e.value * std::exp(-in_quadrature(std::log(e.value / e.low), more));
    e.high = e.value * std::exp(in_quadrature(std::log(e.high / e.value), more));
  } else {
    e.low = e.value - in_quadrature(e.value - e.low, more * std::abs(e.value));
    e.high = e.value + in_quadrature(e.high - e.value, more * std::abs(e.value));
  }
  e.method += fmt::format(", and {:.2g} % from round to round and run to run", 100 * share);
  return e;
}

}  // namespace npgpu
