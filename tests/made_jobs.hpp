// Jobs in streams written down by hand, for the tests of model and report.
#pragma once

#include <vector>

#include "npgpu/model.hpp"
#include "tests/made_visit.hpp"

namespace npgpu {

inline JobSeries jobs_of() {
  JobSeries sweep;
  sweep.question.device = "cuda:0";
  sweep.schedule = "adaptive";
  sweep.device_name = "Test GPU";
  return sweep;
}

// A visit to a job: one sample a trial time.
inline Visit<Jobs>& add_job(JobSeries& sweep, const JobShape& job, const std::vector<double>& host_us) {
  const Visit<Jobs> visit = next_visit(sweep, job, host_us.size());
  for (const double us : host_us) {
    JobSample s;
    s.visit = static_cast<std::uint32_t>(sweep.visits.size());
    s.trial = static_cast<std::uint32_t>(sweep.samples.size() - visit.first_sample);
    s.number = sweep.samples.size();
    s.host_us = us;
    s.issue_us = 0.5;
    sweep.samples.push_back(s);
  }
  sweep.visits.push_back(visit);
  return sweep.visits.back();
}

}  // namespace npgpu
