// Series of transfers written down by hand, for the tests of model and report.
#pragma once

#include <cmath>
#include <initializer_list>
#include <vector>

#include "npgpu/model/result.hpp"
#include "tests/made_visit.hpp"

namespace npgpu {

inline TransferSeries sweep_of(Pattern pattern = Pattern::stream, Timing timing = Timing::host) {
  TransferSeries sweep;
  sweep.question = case_on("cudaMemcpy", "cuda:0");
  sweep.question.pattern = pattern;
  sweep.question.timing = timing;
  sweep.schedule = "classic";
  sweep.device_name = "Test GPU";
  return sweep;
}

inline TransferSample sample_of(const TransferSeries& sweep, std::uint32_t trial, std::uint32_t lane,
                                std::uint64_t repeats, double us) {
  TransferSample s;
  s.visit = static_cast<std::uint32_t>(sweep.visits.size());
  s.trial = trial;
  s.lane = lane;
  s.repeats = repeats;
  // What the case's timing does not ask for is there too, and wrong: it must not be used.
  s.host_us = sweep.question.timing == Timing::host ? us : 1e9;
  if (sweep.question.timing != Timing::host) s.device_us = us;
  return s;
}

// A visit to a point of one lane: one sample a trial time.
inline Visit<Transfers>& add_point(TransferSeries& sweep, std::uint64_t bytes, const std::vector<double>& trials_us,
                                   std::uint64_t repeats = 1) {
  const Visit<Transfers> visit = next_visit(sweep, {bytes}, trials_us.size());
  std::uint32_t trial = 0;
  for (const double us : trials_us) sweep.samples.push_back(sample_of(sweep, trial++, 0, repeats, us));
  sweep.visits.push_back(visit);
  return sweep.visits.back();
}

// A visit to a duplex point: the trial times of both lanes.
inline Visit<Transfers>& add_duplex(TransferSeries& sweep, std::uint64_t bytes, const std::vector<double>& lane0_us,
                                    const std::vector<double>& lane1_us, std::uint64_t repeats = 1) {
  const Visit<Transfers> visit = next_visit(sweep, {bytes}, 2 * lane0_us.size());
  for (std::uint32_t t = 0; t < lane0_us.size(); ++t) {
    sweep.samples.push_back(sample_of(sweep, t, 0, repeats, lane0_us[t]));
    sweep.samples.push_back(sample_of(sweep, t, 1, repeats, lane1_us[t]));
  }
  sweep.visits.push_back(visit);
  return sweep.visits.back();
}

// A summary as a curve needs it: one time, no spread.
inline TransferResult summary_of(std::uint64_t bytes, double us) {
  TransferResult p;
  p.axes.bytes = bytes;
  p.trials = 1;
  p.time_us.value = us;
  p.rate.value = static_cast<double>(bytes) / (us * 1e-6);
  return p;
}

}  // namespace npgpu
