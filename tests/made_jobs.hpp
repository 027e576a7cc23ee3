// Jobs in streams written down by hand, for the tests of model and report.
#pragma once

#include <vector>

#include "npgpu/model/predict.hpp"
#include "npgpu/model/result.hpp"
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

// As many bytes in as out and a small kernel, in so many chunks.
inline JobShape split_job(std::uint64_t bytes, std::uint32_t chunks, std::uint32_t streams) {
  return {.bytes_in = bytes,
          .bytes_out = bytes,
          .kernel_bytes = 4096,
          .iterations = 7,
          .chunks = chunks,
          .streams = streams};
}

// A copy takes 1 ns a byte, and a gap before it; nothing else costs.
inline MeasuredCosts plain_costs(Seconds gap = Seconds{0}) {
  MeasuredCosts m;
  m.usable = true;
  m.costs.copy_h2d = m.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-9});
  m.costs.gap.h2d = m.costs.gap.d2h = gap;
  return m;
}

}  // namespace npgpu
