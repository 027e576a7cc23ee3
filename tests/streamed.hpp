// Jobs in streams on simulated devices, measured as npgpu streams does, for tests of what is made of them.
#pragma once

#include <doctest/doctest.h>

#include <map>

#include "netpipe/jobs/experiments.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// A trace of these jobs on one device, in series by question.
inline Trace streamed(const std::string& device, const std::vector<JobStep>& jobs) {
  const Backend<Jobs>& backend = find_job_backend(device);
  const DeviceInfo info = devices::find(device);
  Trace trace;
  Facts facts{{"id", device}};
  facts.insert(facts.end(), info.facts.begin(), info.facts.end());
  trace.provenance = {{"gpu0", facts}};
  const auto runner = backend.open(jobs);
  const auto schedule = classic_schedule({.trials = 3});
  std::map<JobCase, JobSeries> by_question;
  for (const JobStep& job : jobs) {
    if (backend.refuses(job)) continue;  // as a plan leaves it out
    auto measured = measure<Jobs>(*runner, *schedule, runner->settled(job, {}), {});
    REQUIRE(measured);
    JobSeries& series = by_question[job.question];
    series.question = job.question;
    series.device_name = info.name;
    series.simulated = true;
    measured->visit.first_sample = series.samples.size();
    series.samples.insert(series.samples.end(), measured->samples.begin(), measured->samples.end());
    series.visits.push_back(measured->visit);
  }
  for (auto& [question, series] : by_question) trace.of<Jobs>().push_back(std::move(series));
  return trace;
}

}  // namespace npgpu
