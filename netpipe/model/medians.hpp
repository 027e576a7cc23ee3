// What all kinds' figures are made with: the series of a trace, device by device, and medians, means and intervals of
// their points.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "netpipe/engine/algorithms.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::model {

// In the order of the trace. Two GPUs may have been called cuda:0 in turn; their UUIDs distinguish them.
template <class K> std::vector<std::vector<const Series<K>*>> by_device(const Trace& trace) {
  std::vector<std::vector<const Series<K>*>> all;
  for (const Series<K>& series : trace.of<K>()) {
    const auto its = [&](const auto& list) {
      return list.front()->question.device == series.question.device && list.front()->device_uuid == series.device_uuid;
    };
    auto found = std::find_if(all.begin(), all.end(), its);
    if (found == all.end()) found = all.emplace(all.end());
    found->push_back(&series);
  }
  return all;
}

// What counters were at the end of the run, in a group of their own: it names the device and does not describe it.
inline bool is_of_end(const std::string& group) { return group.ends_with("_after"); }

// Whether this group describes the device. By UUID where there is one, for an ordinal may have had another GPU behind
// it.
inline bool describes(const Provenance::value_type& of, const std::string& id, const std::string& uuid) {
  const auto& [group, facts] = of;
  return !is_of_end(group) && text_fact(facts, "id") == id && (uuid.empty() || text_fact(facts, "uuid") == uuid);
}

// A figure that is proportional to a point's time, or to one over it (`is_rate`), of each visit that counts. Their
// median is `figure`. Of one lane, or of all together.
inline constexpr auto every_lane = ~std::uint32_t{0};
template <class K>
std::vector<double> by_visit(const Series<K>& series, const Point<K>& point, double figure, bool is_rate,
                             std::uint32_t lane = every_lane) {
  std::vector<double> each;
  for (const VisitInfo* visit : point.counted()) {
    const auto all = samples_of(series, *visit);
    std::vector<typename K::Sample> some(all.begin(), all.end());
    if constexpr (requires(const typename K::Sample& sample) { sample.lane; })
      if (lane != every_lane) std::erase_if(some, [&](const auto& sample) { return sample.lane != lane; });
    if (const auto times = trial_times<K>(series.question, some); !times.empty()) each.push_back(npgpu::median(times));
  }
  const double all = each.empty() ? not_measured : npgpu::median(each);
  for (double& us : each) us = figure * (is_rate ? all / us : us / all);
  return each;
}

// NaN of nothing.
inline double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Value and bounds, of values that are there; false, and no bounds, where there are too few for an interval.
inline bool set_median(Estimate& e, std::span<const double> values) {
  e.value = median(values);
  const auto interval = median_interval(values);
  if (interval) {
    e.low = interval->low;
    e.high = interval->high;
  }
  return interval.has_value();
}

// All values of a point's visits.
inline std::vector<double> all_of(const ByVisit& visits) {
  std::vector<double> all;
  for (const auto& values : visits) all.insert(all.end(), values.begin(), values.end());
  return all;
}

// The medians of a point's visits, of which these are the values.
template <class K> ByRound by_round(const Point<K>& point, const ByVisit& values) {
  ByRound medians;
  const auto visits = point.counted();
  for (std::size_t i = 0; i < visits.size(); ++i)
    if (!values[i].empty()) medians.emplace(visits[i]->round, median(values[i]));
  return medians;
}

// The median of times, with the drift of such times in its interval.
inline Estimate time_over_visits(const ByVisit& us, const DriftByTime& drift) {
  const Estimate e = median_over_visits(us, "us");
  return with_drift(e, drift.at(e.value));
}

// What a point is, before its samples are looked at.
template <class K> Result<K> result_of(const Point<K>& point) {
  Result<K> r;
  r.axes = point.axes;
  r.stop = point.stop();
  r.causes = point.disturbed();
  r.disturbed = disturbance_of(point);
  r.work = point.work();
  r.time_us.unit = "us";
  return r;
}
// Its times, all in `us`.
template <class K> void set_times(Result<K>& r, const ByVisit& us, const Series<K>& series) {
  r.time_us = time_over_visits(us, series.drift);
  r.unsteady = series.is_unsteady(r.time_us);
  const std::vector<double> all = all_of(us);
  r.is_timed = !all.empty();
  if (all.empty()) return;
  r.min_us = *std::min_element(all.begin(), all.end());
  r.max_us = *std::max_element(all.begin(), all.end());
}
// Wrong results make the whole point void.
template <class K> void set_wrong(Result<K>& r, const std::string& why) {
  r.why = r.time_us.method = why;
  r.is_timed = false;
  r.is_wrong = true;
}
// What a point is, and void where the results of a trial were wrong; `why` says what was.
template <class K> Result<K> checked_result_of(const Series<K>& series, const Point<K>& point, const char* why) {
  Result<K> r = result_of(point);
  r.trials = trials_of(series, point);
  if (any_sample(series, point, [](const auto& sample) { return sample.intact == 0; })) set_wrong(r, why);
  return r;
}
template <class K> std::vector<Result<K>> in_order(std::vector<Result<K>> all) {
  sort_stably(all, {}, [](const Result<K>& r) { return std::tie(r.axes, r.lane); });
  return all;
}

// What summarize(series, point) makes of each point.
template <class K, class Summarize> std::vector<Result<K>> of_each_point(const Series<K>& series, Summarize summarize) {
  std::vector<Result<K>> all;
  for (const Point<K>& point : points_of(series)) all.push_back(summarize(series, point));
  return in_order(std::move(all));
}

// By linear interpolation between sorted values, of which there is one at least.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Between which 95 % of drawn values lie.
template <class T> std::pair<T, T> middle_95(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 40;
  return {values[cut], values[values.size() - 1 - cut]};
}

// Medians of the values and of both bounds, each where all of them are known.
inline Estimate middle_of(const std::vector<Estimate>& all) {
  Estimate e;
  for (double Estimate::*number : {&Estimate::value, &Estimate::low, &Estimate::high}) {
    std::vector<double> numbers;
    for (const Estimate& one : all)
      if (!std::isnan(one.*number)) numbers.push_back(one.*number);
    if (!all.empty() && numbers.size() == all.size()) e.*number = median(numbers);
  }
  return e;
}

}  // namespace npgpu::model
