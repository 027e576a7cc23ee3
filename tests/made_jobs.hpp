// Jobs in streams written down by hand, for the tests of model and report.
#pragma once

#include <vector>

#include "npgpu/model.hpp"

namespace npgpu {

inline JobSeries jobs_of() {
  JobSeries sweep;
  sweep.question.device = "cuda:0";
  sweep.schedule = "adaptive";
  sweep.device_name = "Test GPU";
  return sweep;
}

inline void add_job(JobSeries& sweep, const JobShape& job, const std::vector<double>& host_us) {
  JobPoint point;
  point.axes = job;
  point.first_sample = sweep.samples.size();
  point.samples = static_cast<std::uint32_t>(host_us.size());
  for (const double us : host_us) {
    JobSample s;
    s.point = static_cast<std::uint32_t>(sweep.points.size());
    s.trial = static_cast<std::uint32_t>(sweep.samples.size() - point.first_sample);
    s.number = sweep.samples.size();
    s.host_us = us;
    s.issue_us = 0.5;
    sweep.samples.push_back(s);
  }
  sweep.points.push_back(point);
}

}  // namespace npgpu
