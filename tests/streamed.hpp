// Jobs in streams on simulated devices, measured as npgpu streams does, for tests of what is made of them.
#pragma once

#include <doctest/doctest.h>

#include <map>

#include "netpipe/jobs/experiments.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// A trace of these jobs on one device, in sweeps by question.
inline Trace streamed(const std::string& device, const std::vector<cli::PlannedJob>& jobs) {
  const Backend<Jobs>& backend = find_job_backend(device);
  const DeviceInfo info = backend.device(device);
  Trace trace;
  Facts facts{{"id", device}};
  facts.insert(facts.end(), info.facts.begin(), info.facts.end());
  trace.provenance = {{"gpu0", facts}};
  const auto runner = backend.open(device, {});
  const auto schedule = classic_schedule({.trials = 3});
  std::map<JobCase, JobSeries> sweeps;
  std::uint64_t number = 0;
  for (const cli::PlannedJob& job : jobs) {
    if (backend.refuses(job.step)) continue;  // as a plan leaves it out
    JobShape shape = job.step.job;
    if (job.ratio > 0) shape.iterations = iterations_for(*runner, job.step.question, shape, job.ratio);
    auto measured = measure_job(*runner, *schedule, job.step.question, shape, number, {});
    REQUIRE(measured);
    JobSeries& sweep = sweeps[job.step.question];
    sweep.question = job.step.question;
    sweep.device_name = info.name;
    sweep.simulated = true;
    measured->point.first_sample = sweep.samples.size();
    measured->point.samples = static_cast<std::uint32_t>(measured->samples.size());
    sweep.samples.insert(sweep.samples.end(), measured->samples.begin(), measured->samples.end());
    sweep.points.push_back(measured->point);
  }
  for (auto& [question, sweep] : sweeps) trace.of<Jobs>().push_back(std::move(sweep));
  return trace;
}

}  // namespace npgpu
