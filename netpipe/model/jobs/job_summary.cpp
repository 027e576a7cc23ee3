#include <algorithm>
#include <cmath>
#include <span>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/model.hpp"

namespace npgpu {

namespace {

double median_or_nan(std::span<const JobSample> samples, double JobSample::*column) {
  std::vector<double> values;
  for (const JobSample& sample : samples)
    if (std::isfinite(sample.*column)) values.push_back(sample.*column);
  return values.empty() ? not_measured : median(values);
}

JobSummary summarized(const JobSeries& sweep, const JobPoint& point) {
  const std::span<const JobSample> all(sweep.samples);
  const std::size_t first = std::min<std::size_t>(point.first_sample, all.size());
  const auto samples = all.subspan(first, std::min<std::size_t>(point.samples, all.size() - first));
  const auto column = sweep.question.gating == Gating::gated ? &JobSample::device_us : &JobSample::host_us;
  JobSummary s;
  s.job = point.axes;
  s.stop = point.stop;
  s.time_us.unit = "us";
  std::vector<double> us;
  for (const JobSample& sample : samples) {
    // A job that left wrong results took no time worth telling: the whole point is void.
    if (sample.intact == 0) {
      s.time_us.method = "results were wrong";
      return s;
    }
    if (std::isfinite(sample.*column) && sample.*column >= 0) us.push_back(sample.*column);
  }
  s.trials = static_cast<std::uint32_t>(us.size());
  if (us.empty()) {
    s.time_us.method = "no usable trial";
    return s;
  }
  s.time_us.value = median(us);
  if (const auto interval = median_interval(us)) {
    s.time_us.low = interval->low;
    s.time_us.high = interval->high;
    s.time_us.method = "median, 95 % interval from order statistics";
  } else {
    s.time_us.method = "median; too few trials for an interval";
  }
  s.issue_us = median_or_nan(samples, &JobSample::issue_us);
  s.create_us = median_or_nan(samples, &JobSample::create_us);
  s.destroy_us = median_or_nan(samples, &JobSample::destroy_us);
  return s;
}

}  // namespace

std::vector<JobSummary> summarize(const JobSeries& sweep) {
  std::vector<JobSummary> all;
  for (const JobPoint& point : sweep.points) all.push_back(summarized(sweep, point));
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

}  // namespace npgpu
