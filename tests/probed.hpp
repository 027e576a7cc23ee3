// Simulated devices, probed shape by shape, for tests of probes and of what is derived from them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "changed_spec.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/probe.hpp"

namespace npgpu {

inline ProbeSeries probed(const ProbeCase& question, Schedule& schedule) {
  const Probe& probe = find_probe(question.probe, question.device);
  std::vector<ProbeStep> steps;
  for (const Shape& shape : probe.shapes(question)) steps.push_back({question, shape});
  const auto runner = probe.open(steps);
  ProbeSeries series;
  static_cast<ProbeContext&>(series) = probe.context(question);
  series.question = question;
  series.schedule = schedule.text();
  series.device_name = devices::find(question.device).name;
  series.simulated = true;
  series.binding = runner->binding();
  for (const ProbeStep& step : steps) {
    auto measured = measure<Probes>(*runner, schedule, step, {});
    REQUIRE(measured);
    CHECK(measured->mismatch == "");
    measured->visit.first_sample = series.samples.size();
    for (ProbeSample& sample : measured->samples) {
      sample.visit = static_cast<std::uint32_t>(series.visits.size());
      series.samples.push_back(sample);
    }
    series.visits.push_back(measured->visit);
  }
  return series;
}

// All cases of both probes.
inline Trace probed_trace(const std::string& device) {
  Trace trace;
  const auto schedule = adaptive_schedule();
  for (const char* name : {"compute", "bandwidth"}) {
    const Probe& probe = find_probe(name, device);
    for (const ProbeCase& question : probe.cases(device)) trace.of<Probes>().push_back(probed(question, *schedule));
  }
  DeviceInfo info = devices::find(device);
  info.facts.emplace_back("id", device);
  trace.provenance.emplace_back("gpu0", info.facts);
  return trace;
}

inline const Parameter* find(const DeviceParameters& device, const std::string& name) {
  for (const Parameter& p : device.parameters)
    if (p.name == name) return &p;
  return nullptr;
}

inline double value_of(const DeviceParameters& device, const std::string& name) {
  const Parameter* p = find(device, name);
  REQUIRE_MESSAGE(p, name);
  return p->estimate.value;
}

}  // namespace npgpu
