#include "npgpu/model/statistics.hpp"

#include <fmt/format.h>

#include <numeric>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/engine/distributions.hpp"
#include "npgpu/model/result.hpp"

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

constexpr std::size_t enough_points = 10;
constexpr double of_the_usual = 3;  // so much wider than usual is unsteady

// By class, in its order, and by a point's time, as DriftByTime has it. From three runs of characterize on one H200, of
// ten in a row the one in the middle and the two in which calls were slowest and fastest (h200_run_c, _d and _e of
// data/traces): tests/bench/run_to_run.py prints the least with which the interval of each holds 85 % of the medians of
// each other, and here it is rounded up. It is the clock of the host's cores that differs, so that what waits for the
// host differs most: 4 % of calls, and 0.1 % of large copies. Kernels have a GPU's mean clock: 1969.3 to 1972.2 MHz in
// those ten runs, and within each it moved by 0.03 %; theirs are from three quick runs on an H100 (h100_quick_a, _b,
// _c). Windows of energy are from three runs on an H100 and three on an H200: it is the device's warmth that differs,
// at rest most.
constexpr std::array<DriftByTime, names_of<TimeClass>.size()> from_run_to_run{{
    {{0.005, 0.0015, 0.001, 0.001}},     // device-copies
    {{0.012, 0.0045, 0.0015, 0.001}},    // host-copies
    {{0.025, 0.025, 0.04, 0.07}},        // pageable-copies
    {{0.0009, 0.0008, 0.0007, 0.0005}},  // kernels
    {{0.02, 0.02, 0.02, 0.02}},          // host-probes
    {{0.04, 0.045, 0.045, 0.045}},       // calls
    {{0.01, 0.035, 0.035, 0.035}},       // jobs
    {{0.001, 0.001, 0.001, 0.001}},      // gated-jobs
    {{0.008, 0.008, 0.008, 0.008}},      // windows
}};

template <class K> void add_series(ClassDrift& of_class, const Series<K>& series) {
  if (is_beside(series.question)) return;  // what moves it is the second process
  for (const Point<K>& point : points_of(series)) {
    ClassDrift::Visits visits;
    for (const VisitInfo* visit : point.counted())
      if (const auto us = trial_times<K>(series.question, samples_of(series, *visit)); !us.empty())
        visits.emplace_back(visit->round, median(us));
    of_class.add(visits);
  }
}

// Adds half the width of each point's interval, where it has one.
template <class K> void add_half_widths(std::vector<double>& all, const Series<K>& series) {
  for (const Point<K>& point : points_of(series)) {
    ByVisit us;
    for (const VisitInfo* visit : point.counted())
      us.push_back(trial_times<K>(series.question, samples_of(series, *visit)));
    const Estimate e = median_over_visits(us, "us");
    if (const double half = half_width(with_drift(e, series.drift.at(e.value))); std::isfinite(half))
      all.push_back(half);
  }
}

// The variance of a median of values that scatter as these do around theirs. They are taken for normal; their sigma
// comes from the median of their distances.
double variance_of_median(const std::vector<double>& values) {
  constexpr double sigma_of_mad = 1.4826, of_median = 1.5708;  // pi / 2
  std::vector<double> distances;
  const double middle = median(values);
  for (const double v : values) distances.push_back(std::abs(v - middle));
  const double sigma = sigma_of_mad * median(distances);
  return of_median * sigma * sigma / static_cast<double>(values.size());
}

}  // namespace

double variance(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return values.size() < 2 ? not_measured : squares / (n - 1);
}

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

std::vector<std::size_t> places_in_order(std::size_t size,
                                         const std::function<bool(std::size_t, std::size_t)>& comes_before) {
  std::vector<std::size_t> places(size);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return comes_before(a, b); });
  return places;
}

void ClassDrift::Points::add(const Visits& logs, double middle) {
  ++points;
  for (const auto& [round, log] : logs) of_round[round].push_back(log - middle);
}

std::vector<double> ClassDrift::Points::by_round() const {
  std::vector<double> medians;
  for (const auto& [round, logs] : of_round)
    if (2 * logs.size() >= points) medians.push_back(median(logs));
  return medians;
}

double ClassDrift::Points::share() const {
  const std::vector<double> shared = by_round();
  if (shared.size() < 2 || points < enough_points) return 0;
  double own = 0;
  for (const auto& [round, logs] : of_round)
    if (2 * logs.size() >= points) own += variance_of_median(logs) / static_cast<double>(shared.size());
  return std::sqrt(std::max(variance(shared) - own, 0.0));
}

void ClassDrift::add(const Visits& us) {
  Visits visits;
  std::vector<double> logs;
  for (const auto& [round, one] : us) {
    if (!(one > 0)) continue;
    logs.push_back(std::log(one));
    visits.emplace_back(round, logs.back());
  }
  if (visits.size() < 2) return;
  const double middle = median(logs);
  all_.add(visits, middle);
  by_time_[DriftByTime::band(std::exp(middle))].add(visits, middle);
}

Drift ClassDrift::drift(TimeClass time_class) const {
  Drift drift{time_class, all_.points};
  for (const double log : all_.by_round()) drift.by_round.push_back(std::expm1(log));
  for (std::size_t i = 0; i < by_time_.size(); ++i) drift.drift.share[i] = by_time_[i].share();
  return drift;
}

DriftByTime with_run_to_run(DriftByTime of_run, TimeClass time_class) {
  for (std::size_t i = 0; i < of_run.share.size(); ++i)
    of_run.share[i] = in_quadrature(of_run.share[i], run_to_run(time_class).share[i]);
  return of_run;
}

double Drift::most() const {
  const auto amount = [](double off) { return std::abs(off); };
  return by_round.empty() ? 0 : *std::ranges::max_element(by_round, {}, amount);
}

std::vector<Drift> drifts_of(const Trace& trace) {
  std::array<ClassDrift, names_of<TimeClass>.size()> classes;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      add_series(classes[static_cast<std::size_t>(class_of(series.question))], series);
  });
  std::vector<Drift> all;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (Drift drift = classes[i].drift(static_cast<TimeClass>(i)); drift.by_round.size() >= 2)
      all.push_back(std::move(drift));
  return all;
}

const DriftByTime& run_to_run(TimeClass time_class) { return from_run_to_run[static_cast<std::size_t>(time_class)]; }

void set_drifts(Trace& trace) {
  std::array<DriftByTime, names_of<TimeClass>.size()> drifts{};
  for (const Drift& one : drifts_of(trace)) drifts[static_cast<std::size_t>(one.time_class)] = one.drift;
  std::array<std::vector<double>, names_of<TimeClass>.size()> half_widths;
  for_each_kind([&]<class K>() {
    for (Series<K>& series : trace.of<K>()) {
      const TimeClass time_class = class_of(series.question);
      series.drift = drifts[static_cast<std::size_t>(time_class)];
      if (!series.simulated) series.drift = with_run_to_run(series.drift, time_class);
      add_half_widths(half_widths[static_cast<std::size_t>(time_class)], series);
    }
  });
  for_each_kind([&]<class K>() {
    for (Series<K>& series : trace.of<K>()) {
      const TimeClass time_class = class_of(series.question);
      const std::vector<double>& all = half_widths[static_cast<std::size_t>(time_class)];
      const double usual = all.size() >= enough_points ? median(all) : of_95_percent * run_to_run(time_class).share[0];
      series.unsteady_above = std::max(least_unsteady, of_the_usual * usual);
    }
  });
}

}  // namespace npgpu
