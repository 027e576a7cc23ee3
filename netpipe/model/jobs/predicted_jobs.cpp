// Measured jobs, what the simulator predicts of each, and how far it was from them, by their length. Where a user names
// no measured jobs of his own, the answer's error is that of the kept ones.
#include <algorithm>
#include <cmath>
#include <limits>

#include "netpipe/model/jobs/job_points.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

constexpr double no_end = std::numeric_limits<double>::infinity();
// Classes of jobs by the time of the unsplit job, in us.
constexpr std::array<double, 5> borders{0, 300, 1000, 5000, no_end};

// The median over all visits but that of one round; nothing where there is no other, or none of that round.
std::optional<double> time_without(const ByRound& us, std::uint32_t round) {
  if (!us.contains(round) || us.size() < 2) return std::nullopt;
  std::vector<double> others;
  for (const auto& [at, time] : us)
    if (at != round) others.push_back(time);
  return median(others);
}

// The host's time for the calls of split jobs, over what the costs say.
class CallsOverCosts {
 public:
  void add(const PredictedJob& one, StreamCosts costs) {
    costs.call_factors.clear();
    const MeasuredWorkload& w = one.workload;
    for (std::size_t i = 0; i < w.issue_us.size(); ++i) {
      const Seconds host = simulate_total(one.job, w.streams[i], costs, w.question.order).busy.host;
      if (w.streams[i] > 1 && std::isfinite(w.issue_us[i]) && host.count() > 0)
        ratios_.emplace_back(&one, w.issue_us[i] / microseconds(host));
    }
  }
  // The median over all jobs but this one; null: over all.
  double without(const PredictedJob* one) const {
    const std::vector<double> others = ratios(one);
    return others.empty() ? 1 : median(others);
  }
  Estimate over_all() const { return model::median_of(ratios(nullptr), "1", "median over workloads and cuts"); }

 private:
  std::vector<double> ratios(const PredictedJob* without) const {
    std::vector<double> all;
    for (const auto& [of, ratio] : ratios_)
      if (of != without) all.push_back(ratio);
    return all;
  }
  std::vector<std::pair<const PredictedJob*, double>> ratios_;
};

std::vector<double> times_of(const PredictedJob& one, const StreamCosts& costs) {
  const MeasuredWorkload& w = one.workload;
  std::vector<double> us;
  for (const std::uint32_t n : w.streams)
    us.push_back(n == 1 ? w.time_us.front().value
                        : microseconds(simulate_total(one.job, n, costs, w.question.order).total));
  return us;
}

PredictedJob predicted(const MeasuredWorkload& w, const MeasuredCosts& measured) {
  PredictedJob one{w, job_of(w, measured), {}, {}, {}};
  for (const std::uint32_t n : w.streams) one.chunks.push_back(chunk_times(one.job, n, measured.costs));
  one.predicted_us = times_of(one, costs_of(w, measured));
  return one;
}

}  // namespace

ModelErrors errors_by_length(std::span<const PredictedJob> jobs, const std::string& source) {
  ModelErrors all{source};
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    LengthClass& one = all.classes.emplace_back(LengthClass{borders[i], borders[i + 1]});
    std::vector<double> errors;
    for (const PredictedJob& job : jobs) {
      if (!one.has(job.workload.time_us.front().value)) continue;
      ++one.workloads;
      const std::vector<double> own = errors_of(job);
      errors.insert(errors.end(), own.begin(), own.end());
    }
    one.error = spread_of(std::move(errors));
  }
  return all;
}

std::optional<LengthClass> error_in_turn(std::span<const SplitInTurn> jobs) {
  if (jobs.empty()) return std::nullopt;
  std::vector<double> errors;
  for (const SplitInTurn& one : jobs) errors.push_back(std::abs(one.predicted_us / one.measured_us - 1));
  return LengthClass{0, no_end, static_cast<std::uint32_t>(jobs.size()), spread_of(std::move(errors))};
}

// tests/advice_test.cpp computes this table again from the kept traces; it fails where this is not true any more,
// and prints what is.
const ModelErrors& known_errors() {
  static const ModelErrors known{
      "among 259 jobs measured on an NVIDIA H200, data/traces/h200_design.h5 and h200_small_design.h5",
      {{borders[0], borders[1], 76, {0.0270, 0.0961, 0.505}},
       {borders[1], borders[2], 54, {0.0152, 0.0947, 0.299}},
       {borders[2], borders[3], 62, {0.0097, 0.0432, 0.148}},
       {borders[3], borders[4], 67, {0.0078, 0.0437, 0.119}}}};
  return known;
}

std::vector<double> regrets_of_measuring(std::span<const ByRound> alternatives) {
  std::vector<std::array<double, 2>> halves;  // of each alternative that has both
  for (const ByRound& one : alternatives) {
    std::array<std::vector<double>, 2> us;
    for (const auto& [round, time] : one) us[round % 2].push_back(time);
    if (!us[0].empty() && !us[1].empty()) halves.push_back({median(us[0]), median(us[1])});
  }
  std::vector<double> regrets;
  for (const std::size_t chooses : {0, 1}) {
    if (halves.size() < 2) break;
    const std::size_t times = 1 - chooses;
    const auto least = [&](std::size_t half) {
      return *std::ranges::min_element(halves, {}, [=](const auto& one) { return one[half]; });
    };
    regrets.push_back(least(chooses)[times] / least(times)[times] - 1);
  }
  return regrets;
}

Estimate cross_validated_regret(std::span<const ByRound> alternatives, std::size_t chosen) {
  ByVisit ratios;
  for (const auto& [round, chosen_us] : alternatives[chosen]) {
    double least = not_measured, best_us = not_measured;
    for (const ByRound& one : alternatives)
      if (const auto us = time_without(one, round); us && !(*us >= least)) {
        least = *us;
        best_us = one.at(round);
      }
    if (std::isfinite(best_us)) ratios.push_back({chosen_us / best_us});
  }
  if (ratios.size() < 2) return {.unit = "1", .method = "fewer than two rounds measured the choice and others"};
  Estimate e = median_over_visits(ratios, "1");
  for (double* part : {&e.value, &e.low, &e.high}) *part -= 1;
  e.method = "each visit compares the choice with the best of the others: " + e.method;
  return e;
}

PredictedJobs predict_jobs(std::span<const MeasuredWorkload> workloads, const MeasuredCosts& measured,
                           std::span<const MeasuredWorkload> others) {
  if (workloads.empty() && others.empty())
    throw Error(ErrorKind::usage,
                "no measured job to predict: npgpu streams --experiment design measures some, each unsplit and in "
                "streams");
  if (!measured.usable)
    throw Error(ErrorKind::usage,
                measured.device + ": " + (measured.missing.empty() ? "no costs" : measured.missing.front()));
  PredictedJobs all;
  for (const MeasuredWorkload& w : workloads) all.jobs.push_back(predicted(w, measured));
  for (const MeasuredWorkload& w : others) all.others.push_back(predicted(w, measured));
  CallsOverCosts host;
  for (const PredictedJob& one : all.jobs) host.add(one, measured.costs);
  all.calls = host.over_all();
  for (std::vector<PredictedJob>* list : {&all.jobs, &all.others})
    for (PredictedJob& one : *list)
      one.as_host_was_us = times_of(one, with_calls(costs_of(one.workload, measured), host.without(&one)));
  return all;
}

std::vector<double> errors_of(const PredictedJob& one) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < one.predicted_us.size(); ++i)
    if (one.workload.streams[i] != 1)
      errors.push_back(std::abs(one.predicted_us[i] / one.workload.time_us[i].value - 1));
  return errors;
}

std::vector<Estimate> regrets_of_choosing(const MeasuredWorkload& w) {
  std::vector<Estimate> all;
  for (std::size_t i = 0; i < w.us_by_round.size(); ++i) all.push_back(cross_validated_regret(w.us_by_round, i));
  return all;
}

}  // namespace npgpu
