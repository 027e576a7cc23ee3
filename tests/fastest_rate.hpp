// The rate of a probe's shape in the fastest of some trials.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/probe.hpp"

namespace npgpu {

inline double fastest_rate(const ProbeCase& c, const Shape& shape, const ClassicOptions& how) {
  const ProbeStep step{c, shape};
  const auto runner = find_probe(c.probe, c.device).open({&step, 1});
  const auto m = measure<Probes>(*runner, *classic_schedule(how), step, {}).value();
  CHECK(m.mismatch == "");
  double least = INFINITY;
  for (const ProbeSample& s : m.samples) least = std::min(least, s.device_us / static_cast<double>(s.repeats));
  return m.visit.work / least * 1e6;
}

}  // namespace npgpu
