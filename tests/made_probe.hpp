// Probe sweeps written down by hand, for the tests of the model.
#pragma once

#include <string>
#include <vector>

#include "npgpu/model/derive.hpp"
#include "tests/made_visit.hpp"

namespace npgpu {

inline ProbeSeries probe_sweep(const std::string& device = "cuda:0") {
  ProbeSeries sweep;
  sweep.question.probe = "compute";
  sweep.question.device = device;
  sweep.device_name = "Test GPU";
  sweep.layout.units = 4;
  sweep.layout.lanes = 32;
  sweep.layout.max_threads_per_block = 1024;
  sweep.layout.max_blocks_per_unit = 8;
  sweep.layout.clock_mhz = 1000;
  return sweep;
}

// A visit to a point whose trials took so many microseconds of one repeat each. No cycles.
inline Visit<Probes>& add_point(ProbeSeries& sweep, const Shape& shape, double work,
                                const std::vector<double>& device_us) {
  Visit<Probes> visit = next_visit(sweep, shape, device_us.size());
  visit.work = work;
  visit.stop = Stop::converged;
  for (std::size_t trial = 0; trial < device_us.size(); ++trial) {
    ProbeSample s;
    s.visit = static_cast<std::uint32_t>(sweep.visits.size());
    s.trial = static_cast<std::uint32_t>(trial);
    s.repeats = 10;
    s.device_us = 10 * device_us[trial];
    s.host_us = 10 * device_us[trial] + 7;
    s.max_blocks_on_unit = (shape.blocks + sweep.layout.units - 1) / sweep.layout.units;
    sweep.samples.push_back(s);
  }
  sweep.visits.push_back(visit);
  return sweep.visits.back();
}

// Cycles of the last visit: its time at so many MHz.
inline void give_cycles(ProbeSeries& sweep, double mhz) {
  const Visit<Probes>& visit = sweep.visits.back();
  for (std::size_t i = 0; i < visit.samples; ++i) {
    ProbeSample& s = sweep.samples[visit.first_sample + i];
    s.cycles = s.device_us * mhz;
  }
}

}  // namespace npgpu
