#include "netpipe/judge/judge.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "netpipe/judge/health/findings.hpp"

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

// The median absolute deviation of many normal values is this part of their standard deviation, and worth so much of
// the degrees of freedom that their standard deviation has. Of few it is a smaller part, and of even numbers, of which
// the lower ones in the middle are taken, still smaller: of 6 values two thirds of it. As if so many were missing (2e5
// drawn groups of 5 to 100 values: right to 2 %).
constexpr double mad_of_sigma = 0.6745, worth_of_mad = 0.37, missing_of_odd = 0.85, missing_of_even = 1.93;
constexpr double known_freedom = 10, most_freedom = 50;
// The variance of a median over that of a mean.
constexpr double variance_of_median = 1.57;
// Some of many are a little sick and within their limit: they do not say how much the healthy ones scatter. The slowest
// one of fewer than twenty counts.
constexpr double share_of_healthy = 0.95;

std::string unit_of(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes_per_s: return "B/s";
    case FigureUnit::flop_per_s: return "FLOP/s";
    case FigureUnit::operations_per_s: return "OP/s";
    case FigureUnit::us:
    case FigureUnit::us_a_load: break;
  }
  return "us";
}

std::vector<double> known_values(std::span<const double> logs) {
  std::vector<double> values;
  std::ranges::copy_if(logs, std::back_inserter(values), [](double log) { return std::isfinite(log); });
  return values;
}

// Where the value of a rank (from 1) among so many normal ones is expected (Blom 1958).
double place_in_sigmas(std::size_t rank, std::size_t count) {
  constexpr double alpha = 0.375;
  const double size = static_cast<double>(count);
  return student_quantile((static_cast<double>(rank) - alpha) / (size + 1 - 2 * alpha),
                          std::numeric_limits<double>::infinity());
}

// From the center and the scatter of so many others.
Standard standard_of(double center, double sigma, std::size_t others, const KnownScatter& known, double chance) {
  const double seen = worth_of_mad * (static_cast<double>(std::max<std::size_t>(others, 1)) - 1);
  const double freedom = known_freedom + seen, own = std::isfinite(sigma) ? sigma : 0;
  Standard is{center, sigma};
  // What is known steadies a guess from few; a group that plainly scatters more is taken at its word.
  is.unit = std::max(own, std::sqrt((known_freedom * known.sigma * known.sigma + seen * own * own) / freedom));
  const double of_center = std::sqrt(1 + variance_of_median / static_cast<double>(std::max<std::size_t>(others, 1)));
  const double allowed = student_quantile(1 - chance, std::min(freedom, most_freedom)) * is.unit * of_center;
  is.limit = std::max(std::log1p(known.least), allowed);
  return is;
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

// From nine traces of eight H200s in virtual machines of several hosts (data/traces), and runs of one GPU after each
// other: the standard deviation was a third to a half of these.
KnownScatter known_scatter(FigureKind kind) {
  switch (kind) {
    case FigureKind::link: return {0.003, 0.02};
    case FigureKind::both_ways: return {0.012, 0.05};
    case FigureKind::memory: return {0.004, 0.02};
    case FigureKind::compute: return {0.004, 0.02};
    case FigureKind::matrix: return {0.015, 0.05};
    case FigureKind::latency: return {0.01, 0.05};
    case FigureKind::small_copy: return {0.02, 0.10};
    case FigureKind::call: return {0.05, 0.20};
    case FigureKind::pageable_copy: break;
  }
  return {0.10, 0.40};
}

double lower_median(std::vector<double> values) {
  if (values.empty()) return not_measured;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double scatter_of(std::span<const double> logs) {
  std::vector<double> values = known_values(logs);
  const std::size_t count = values.size();
  const double center = lower_median(values);
  for (double& log : values) log = std::abs(log - center);
  const double bias = 1 - (count % 2 ? missing_of_odd : missing_of_even) / static_cast<double>(count);
  return lower_median(std::move(values)) / (mad_of_sigma * bias);
}

Standard standard_of(std::span<const double> logs, const KnownScatter& known, double chance) {
  std::vector<double> values = known_values(logs);
  const double center = lower_median(values), scatter = scatter_of(values);
  std::ranges::sort(values);
  if (values.size() < 3) return standard_of(center, scatter, values.size(), known, chance);
  // None is beyond a limit that is not beyond the least one.
  const auto beyond = std::ranges::upper_bound(values, center + std::log1p(known.least)) - values.begin();
  const std::size_t first = std::min(static_cast<std::size_t>(beyond), values.size() - 1);
  Standard is;
  for (std::size_t inner = std::max(first, (values.size() + 1) / 2); inner < values.size(); ++inner) {
    const auto slow = static_cast<std::size_t>(std::ceil(share_of_healthy * static_cast<double>(inner)));
    const double wide = (values[slow - 1] - center) / place_in_sigmas(slow, inner);
    is = standard_of(center, std::max(scatter, wide), values.size(), known, chance);
    if (values[inner] - center > is.limit) break;
  }
  return is;
}

Ruling rule_apart(double share, double low, double limit) {
  if (!(share > limit) || low <= 0) return Ruling::ok;
  Estimate time;
  time.value = time.high = 1 + share;
  time.low = 1 + low;
  return rule(time, Allowed::at_most, 1 + limit);
}

bool is_rate(FigureUnit unit) { return unit != FigureUnit::us && unit != FigureUnit::us_a_load; }

double log_time(double value, FigureUnit unit) {
  if (!(value > 0) || !std::isfinite(value)) return not_measured;
  return is_rate(unit) ? -std::log(value) : std::log(value);
}

std::string text_of_figure(double value, FigureUnit unit) {
  return figure_text(value, unit_of(unit)) + (unit == FigureUnit::us_a_load ? " a load" : "");
}

}  // namespace npgpu::model
