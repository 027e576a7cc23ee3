#include <algorithm>
#include <cmath>
#include <span>

#include "netpipe/model/medians.hpp"

namespace npgpu {

namespace {

JobResult summarized(const JobSeries& series, const JobPoint& point) {
  JobResult r = model::checked_result_of(series, point, "results were wrong");
  r.work = not_measured;
  if (r.is_wrong) return r;
  const auto column_of = [&](double JobSample::*column) {
    return values_of(series, point,
                     [column](const JobSample& sample) { return sample.*column >= 0 ? sample.*column : not_measured; });
  };
  const ByVisit us = column_of(series.question.gating == Gating::gated ? &JobSample::device_us : &JobSample::host_us);
  r.trials = static_cast<std::uint32_t>(model::all_of(us).size());
  model::set_times(r, us, series);
  r.us_by_round = model::by_round(point, us);
  if (r.trials == 0) {
    r.why = r.time_us.method;
    return r;
  }
  r.issue_us = median_over_visits(column_of(&JobSample::issue_us), "us").value;
  r.create_us = median_over_visits(column_of(&JobSample::create_us), "us").value;
  r.destroy_us = median_over_visits(column_of(&JobSample::destroy_us), "us").value;
  return r;
}

}  // namespace

std::vector<JobResult> Jobs::results(const JobSeries& series) {
  std::vector<JobResult> all = model::of_each_point(series, summarized);
  for (JobResult& one : all) {
    JobShape unsplit = one.axes;
    unsplit.chunks = unsplit.streams = 1;
    const auto base = std::ranges::lower_bound(all, unsplit, {}, &JobResult::axes);
    if (base != all.end() && base->axes == unsplit && one.time_us.value > 0)
      one.speed_up = base->time_us.value / one.time_us.value;
  }
  return all;
}

}  // namespace npgpu
