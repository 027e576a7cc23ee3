// Measured jobs, and what the simulator predicts of each.
#include <cmath>

#include "netpipe/model/jobs/job_points.hpp"
#include "npgpu/error.hpp"
#include "npgpu/predict.hpp"

namespace npgpu {

namespace {

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

PredictedJobs predict_jobs(std::span<const MeasuredWorkload> workloads, const MeasuredCosts& measured,
                           std::span<const MeasuredWorkload> others) {
  if (workloads.empty() && others.empty())
    throw Error(ErrorKind::usage,
                "no measured job to predict: npgpu streams --experiment design measures some, each unsplit and in at "
                "least three counts of streams");
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
