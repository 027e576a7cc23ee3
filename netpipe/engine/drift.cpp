#include "npgpu/drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace npgpu {

namespace {

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
    for (const Visit<K>* visit : point.counted())
      if (const auto us = trial_times<K>(series.question, samples_of(series, *visit)); !us.empty())
        visits.emplace_back(visit->round, median(us));
    of_class.add(visits);
  }
}

// Of the intervals of its points, where they have one.
template <class K> void add_half_widths(std::vector<double>& all, const Series<K>& series) {
  for (const Point<K>& point : points_of(series)) {
    ByVisit us;
    for (const Visit<K>* visit : point.counted())
      us.push_back(trial_times<K>(series.question, samples_of(series, *visit)));
    const Estimate e = median_over_visits(us, "us");
    if (const double half = half_width(with_drift(e, series.drift.at(e.value))); std::isfinite(half))
      all.push_back(half);
  }
}

// Of a median of values that scatter as these do around theirs; taken for normal, from the median of their distances.
double variance_of_median(const std::vector<double>& values) {
  constexpr double sigma_of_mad = 1.4826, of_median = 1.5708;  // pi / 2
  std::vector<double> distances;
  const double middle = median(values);
  for (const double v : values) distances.push_back(std::abs(v - middle));
  const double sigma = sigma_of_mad * median(distances);
  return of_median * sigma * sigma / static_cast<double>(values.size());
}

}  // namespace

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
