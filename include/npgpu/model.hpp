// What a trace says: pure functions of what was read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npgpu/regret.hpp"
#include "npgpu/statistics.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// One point of one lane, summarized. Times are of one operation one way: trial time / repeats, halved for pingpong and
// flag (Allada et al. 2009: T/((1+RT)*nrepeat)); device time where the case's timing is event or gated, host time
// otherwise. Rates come from summarized times (Hoefler & Belli 2015), never the other way round.
struct PointSummary {
  std::uint64_t bytes = 0;
  std::uint32_t lane = 0;
  std::uint32_t trials = 0;
  Stop stop = Stop::trials;
  bool unsteady = false;         // its interval is wide, even for its class; see set_drifts()
  std::string disturbed{};       // by what, where the figures rest on disturbed visits; else empty
  Estimate time_us;              // median over visits; see median_over_visits()
  double min_us = not_measured;  // NetPIPE's minimum over trials
  double max_us = not_measured;
  double mean_us = not_measured;
  Estimate rate;  // bytes / median time, bytes per second; interval from the time's
  double percent_of_limit = not_measured;
};
// All measured lanes, by bytes, then lane; lanes are numbered as in lanes(). The limit is the series'.
std::vector<PointSummary> summarize(const TransferSeries&);

// The measured lanes together, trial by trial; then as above. Of a duplex, over the longest of their times; of a case
// with more_lanes that is timed on devices, the sum of the lanes' rates, because all ran all the time. `bytes` stays
// the size of one copy, and the rate counts the copies of all lanes. Empty where only one lane is measured.
std::vector<PointSummary> summarize_sum(const TransferSeries&);

// A curve of one lane in few numbers. NaN where the points do not carry it.
struct CurveFit {
  Estimate latency_us;                   // t0 of the fit time = t0 + bytes/rate
  Estimate rate;                         // asymptotic bytes per second of the same fit
  double worst_residual = not_measured;  // largest |fitted/measured - 1| over the fitted points
  double best_rate = not_measured;       // of the measured points, bytes per second
  std::uint64_t best_bytes = 0;
  double falls_by = not_measured;    // how far the rate of the largest size is below the best; 0.26: by 26 %
  double half_bytes = not_measured;  // n_1/2: size where the measured curve first reaches half of best_rate
                                     // (Hockney), interpolated between points
  double knee_bytes = not_measured;  // where the rate curve over log2(size) stands farthest above its chord
                                     // (Satopaa et al. 2011)
  double small_us = not_measured;    // NetPIPE's latency: mean one-way time of the ten smallest points, or of those
                                     // of them whose time is not mostly transfer
  // Why half_bytes, knee_bytes or small_us is NaN (an Estimate's method says it for itself), and where the rate falls.
  std::vector<std::string> notes;
};
CurveFit fit_curve(std::span<const PointSummary> one_lane);

// One job in streams, summarized: medians over its trials.
struct JobSummary {
  JobShape job;
  std::uint32_t trials = 0;
  Stop stop = Stop::trials;
  std::string disturbed{};
  Estimate time_us;  // of the whole job: device time where all is gated, host time otherwise
  double min_us = not_measured, max_us = not_measured;
  double issue_us = not_measured;   // of all asynchronous calls
  double create_us = not_measured;  // fresh streams
  double destroy_us = not_measured;
  double speed_up = not_measured;  // over the same job unsplit in one stream, if that is there
  ByRound us_by_round;
};
// Ordered by job.
std::vector<JobSummary> summarize(const JobSeries&);

}  // namespace npgpu
