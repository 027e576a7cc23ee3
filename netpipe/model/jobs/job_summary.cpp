#include <algorithm>
#include <cmath>
#include <span>

#include "netpipe/model/medians.hpp"
#include "npgpu/compare.hpp"
#include "npgpu/model.hpp"

namespace npgpu {

namespace {

double median_or_nan(std::span<const JobSample> samples, double JobSample::*column) {
  std::vector<double> values;
  for (const JobSample& sample : samples)
    if (std::isfinite(sample.*column)) values.push_back(sample.*column);
  return values.empty() ? not_measured : median(values);
}

JobSummary summarized(const JobSeries& series, const JobPoint& point) {
  const auto samples = samples_of(series, point);
  const auto column = series.question.gating == Gating::gated ? &JobSample::device_us : &JobSample::host_us;
  JobSummary s;
  s.job = point.axes;
  s.stop = point.stop;
  s.time_us.unit = "us";
  std::vector<double> us;
  for (const JobSample& sample : samples) {
    // Wrong results void the whole point.
    if (sample.intact == 0) {
      s.time_us.method = "results were wrong";
      return s;
    }
    if (std::isfinite(sample.*column) && sample.*column >= 0) us.push_back(sample.*column);
  }
  s.trials = static_cast<std::uint32_t>(us.size());
  model::set_times(s, us);
  if (us.empty()) return s;
  s.issue_us = median_or_nan(samples, &JobSample::issue_us);
  s.create_us = median_or_nan(samples, &JobSample::create_us);
  s.destroy_us = median_or_nan(samples, &JobSample::destroy_us);
  return s;
}

}  // namespace

std::vector<JobSummary> summarize(const JobSeries& series) {
  std::vector<JobSummary> all;
  for (const JobPoint& point : series.points) all.push_back(summarized(series, point));
  std::sort(all.begin(), all.end(), [](const JobSummary& a, const JobSummary& b) { return a.job < b.job; });
  for (JobSummary& one : all) {
    JobShape unsplit = one.job;
    unsplit.chunks = unsplit.streams = 1;
    const auto base = std::lower_bound(all.begin(), all.end(), unsplit,
                                       [](const JobSummary& s, const JobShape& job) { return s.job < job; });
    if (base != all.end() && base->job == unsplit && one.time_us.value > 0)
      one.speed_up = base->time_us.value / one.time_us.value;
  }
  return all;
}

template <> std::vector<PointTime<Jobs>> estimates(const JobSeries& series) {
  std::vector<PointTime<Jobs>> all;
  for (const JobSummary& s : summarize(series))
    all.push_back({s.job, 0, not_measured, s.time_us, s.min_us, s.max_us, s.trials ? std::string() : s.time_us.method});
  return all;
}

}  // namespace npgpu
