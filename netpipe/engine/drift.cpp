#include "npgpu/drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace npgpu {

namespace {

constexpr std::size_t enough_points = 10;

// By how much a GPU's mean clock differs from one run to the next, which no round of one run shows. In ten runs of
// characterize on an H200 it was 1969.3 to 1972.2 MHz, and within each it moved by 0.03 %: the median of the ten lay in
// 78.7 % of the intervals of kernels in the run furthest off, and in 95.8 % with this.
constexpr double clock_from_run_to_run = 0.001;

// Points that are looked at together.
struct Together {
  std::size_t points = 0;
  // By round: of a visit's time over that of all visits to its point.
  std::map<std::uint32_t, std::vector<double>> logs{};

  void add(const std::vector<std::pair<std::uint32_t, double>>& visits, double middle) {
    ++points;
    for (const auto& [round, log] : visits) logs[round].push_back(log - middle);
  }
  // Of the rounds that visited at least half of the points.
  std::vector<double> by_round() const {
    std::vector<double> medians;
    for (const auto& [round, all] : logs)
      if (2 * all.size() >= points) medians.push_back(median(all));
    return medians;
  }
};

struct OfClass {
  Together all;
  std::array<Together, std::tuple_size_v<decltype(DriftByTime::share)>> by_time;
};

template <class K> void add_series(OfClass& of_class, const Series<K>& series) {
  if (is_beside(series.question)) return;  // what moves it is the second process
  for (const Point<K>& point : points_of(series)) {
    std::vector<std::pair<std::uint32_t, double>> visits;
    std::vector<double> logs;
    for (const Visit<K>* visit : point.counted()) {
      const std::vector<double> us = trial_times<K>(series.question, samples_of(series, *visit));
      const double middle = us.empty() ? 0 : median(us);
      if (!(middle > 0)) continue;
      logs.push_back(std::log(middle));
      visits.emplace_back(visit->round, logs.back());
    }
    if (visits.size() < 2) continue;
    const double middle = median(logs);
    of_class.all.add(visits, middle);
    of_class.by_time[DriftByTime::band(std::exp(middle))].add(visits, middle);
  }
}

double variance(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return squares / (n - 1);
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

double share_of(const Together& of) {
  const std::vector<double> shared = of.by_round();
  if (shared.size() < 2 || of.points < enough_points) return 0;
  double own = 0;
  for (const auto& [round, logs] : of.logs)
    if (2 * logs.size() >= of.points) own += variance_of_median(logs) / static_cast<double>(shared.size());
  return std::sqrt(std::max(variance(shared) - own, 0.0));
}

Drift drift_of(TimeClass time_class, const OfClass& of_class) {
  Drift drift{time_class, of_class.all.points};
  for (const double log : of_class.all.by_round()) drift.by_round.push_back(std::expm1(log));
  for (std::size_t i = 0; i < of_class.by_time.size(); ++i) drift.drift.share[i] = share_of(of_class.by_time[i]);
  return drift;
}

}  // namespace

double Drift::most() const {
  const auto amount = [](double off) { return std::abs(off); };
  return by_round.empty() ? 0 : *std::ranges::max_element(by_round, {}, amount);
}

std::vector<Drift> drifts_of(const Trace& trace) {
  std::array<OfClass, names_of<TimeClass>.size()> classes;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      add_series(classes[static_cast<std::size_t>(class_of(series.question))], series);
  });
  std::vector<Drift> all;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (Drift drift = drift_of(static_cast<TimeClass>(i), classes[i]); drift.by_round.size() >= 2)
      all.push_back(std::move(drift));
  return all;
}

void set_drifts(Trace& trace) {
  std::array<DriftByTime, names_of<TimeClass>.size()> drifts{};
  for (const Drift& one : drifts_of(trace)) drifts[static_cast<std::size_t>(one.time_class)] = one.drift;
  for_each_kind([&]<class K>() {
    for (Series<K>& series : trace.of<K>()) {
      const TimeClass time_class = class_of(series.question);
      series.drift = drifts[static_cast<std::size_t>(time_class)];
      if (time_class == TimeClass::kernels && !series.simulated)
        for (double& share : series.drift.share)
          share = std::sqrt(share * share + clock_from_run_to_run * clock_from_run_to_run);
    }
  });
}

}  // namespace npgpu
