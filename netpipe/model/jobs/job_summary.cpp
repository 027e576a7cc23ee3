#include <algorithm>
#include <cmath>
#include <span>

#include "netpipe/model/medians.hpp"
#include "npgpu/compare.hpp"
#include "npgpu/model.hpp"

namespace npgpu {

namespace {

JobSummary summarized(const JobSeries& series, const JobPoint& point) {
  JobSummary s;
  s.job = point.axes;
  s.stop = point.stop();
  s.disturbed = disturbance_of(point);
  s.time_us.unit = "us";
  // Wrong results void the whole point.
  if (any_sample(series, point, [](const JobSample& sample) { return sample.intact == 0; })) {
    s.time_us.method = "results were wrong";
    return s;
  }
  const auto column_of = [&](double JobSample::*column) {
    return values_of(series, point,
                     [column](const JobSample& sample) { return sample.*column >= 0 ? sample.*column : not_measured; });
  };
  const ByVisit us = column_of(series.question.gating == Gating::gated ? &JobSample::device_us : &JobSample::host_us);
  s.trials = static_cast<std::uint32_t>(model::all_of(us).size());
  model::set_times(s, us, series.drift);
  s.us_by_round = model::by_round(point, us);
  if (s.trials == 0) return s;
  s.issue_us = median_over_visits(column_of(&JobSample::issue_us), "us").value;
  s.create_us = median_over_visits(column_of(&JobSample::create_us), "us").value;
  s.destroy_us = median_over_visits(column_of(&JobSample::destroy_us), "us").value;
  return s;
}

}  // namespace

std::vector<JobSummary> summarize(const JobSeries& series) {
  std::vector<JobSummary> all;
  for (const JobPoint& point : points_of(series)) all.push_back(summarized(series, point));
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
    all.push_back({s.job, 0, not_measured, s.time_us, s.min_us, s.max_us, s.trials ? std::string() : s.time_us.method,
                   s.trials > 0});
  return all;
}

}  // namespace npgpu
