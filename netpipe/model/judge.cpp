#include "netpipe/model/judge.hpp"

#include <algorithm>
#include <cmath>

namespace npgpu::model {

namespace {

constexpr double least_share_of_visits = 0.25, tail = 0.025;
constexpr double far = 2;  // what dips, others on the host, and memory that is cleared do not explain

bool is_within(double value, Allowed allowed, double limit) {
  return allowed == Allowed::at_least ? value >= limit : value <= limit;
}

bool is_reached_often(std::span<const double> by_visit, Allowed allowed, double limit) {
  return chance_of_at_least(visits_within(by_visit, allowed, limit), by_visit.size(), least_share_of_visits) <= tail;
}

bool is_far_beyond(double value, Allowed allowed, double limit) {
  return allowed == Allowed::at_least ? far * value < limit : value > far * limit;
}

}  // namespace

std::size_t visits_within(std::span<const double> by_visit, Allowed allowed, double limit) {
  return static_cast<std::size_t>(
      std::ranges::count_if(by_visit, [&](double value) { return is_within(value, allowed, limit); }));
}

std::size_t least_beyond_chance(std::size_t count, double usual_share) {
  constexpr double once_in_a_thousand = 0.001;
  if (count == 0) return 1;
  std::size_t least = 1;
  while (least <= count && chance_of_at_least(least, count, usual_share) > once_in_a_thousand) ++least;
  return least;
}

Ruling rule(const Estimate& figure, Allowed allowed, double limit, std::span<const double> by_visit) {
  if (!is_figure(figure.value)) return Ruling::no_figure;
  if (!is_figure(limit)) return Ruling::no_limit;
  const bool has_interval = !std::isnan(figure.low) && !std::isnan(figure.high);
  const double low = has_interval ? figure.low : figure.value, high = has_interval ? figure.high : figure.value;
  const double worse = allowed == Allowed::at_least ? low : high, better = allowed == Allowed::at_least ? high : low;
  if (is_within(worse, allowed, limit)) return Ruling::ok;
  if (is_reached_often(by_visit, allowed, limit))
    return is_far_beyond(figure.value, allowed, limit) ? Ruling::undecided : Ruling::ok;
  return has_interval && !is_within(better, allowed, limit) ? Ruling::slow : Ruling::undecided;
}

}  // namespace npgpu::model
