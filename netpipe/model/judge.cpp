#include "netpipe/model/judge.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace npgpu::model {

namespace {

constexpr double least_share_of_visits = 0.25, tail = 0.025;

bool is_within(double value, Bound bound, double limit) {
  return bound == Bound::at_least ? value >= limit : value <= limit;
}

bool is_reached_often(std::span<const double> by_visit, Bound bound, double limit) {
  const std::size_t within = visits_within(by_visit, bound, limit);
  if (within == 0) return false;
  const boost::math::binomial_distribution<double> chance(static_cast<double>(by_visit.size()), least_share_of_visits);
  return boost::math::cdf(boost::math::complement(chance, static_cast<double>(within - 1))) <= tail;
}

}  // namespace

std::size_t visits_within(std::span<const double> by_visit, Bound bound, double limit) {
  return static_cast<std::size_t>(
      std::ranges::count_if(by_visit, [&](double value) { return is_within(value, bound, limit); }));
}

Ruling rule(const Estimate& figure, Bound bound, double limit, std::span<const double> by_visit) {
  if (!is_figure(figure.value)) return Ruling::no_figure;
  if (!is_figure(limit)) return Ruling::no_limit;
  const bool has_interval = !std::isnan(figure.low) && !std::isnan(figure.high);
  const double low = has_interval ? figure.low : figure.value, high = has_interval ? figure.high : figure.value;
  const double worse = bound == Bound::at_least ? low : high, better = bound == Bound::at_least ? high : low;
  if (is_within(worse, bound, limit) || is_reached_often(by_visit, bound, limit)) return Ruling::ok;
  return has_interval && !is_within(better, bound, limit) ? Ruling::slow : Ruling::undecided;
}

}  // namespace npgpu::model
