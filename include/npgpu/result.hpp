// What a point of a series came to: the one summary of its samples that every reader of a trace starts from.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::CallSeries& series : trace.of<npgpu::Calls>())
//     for (const npgpu::CallResult& call : npgpu::results(series))
//       std::cout << title(series.question) << ": " << call.time_us.value << " us, from " << call.time_us.low << " to "
//                 << call.time_us.high << '\n';
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/kinds.hpp"
#include "npgpu/regret.hpp"
#include "npgpu/statistics.hpp"

namespace npgpu {

// One point, on one of its lanes where it has several. Times are of one operation one way: trial time / repeats, halved
// for pingpong and flag (Allada et al. 2009: T/((1+RT)*nrepeat)); device time where the case's timing is event or
// gated, host time otherwise. Rates come from summarized times (Hoefler & Belli 2015), never the other way round.
template <class K> struct Result : K::Details {
  typename K::Axes axes{};
  std::uint32_t lane = 0;
  std::uint32_t trials = 0;  // that count
  Stop stop = Stop::trials;
  bool unsteady = false;         // its interval is wide, even for its class; see set_drifts()
  std::uint32_t causes = 0;      // why its figures are doubtful; 0 where they rest on undisturbed visits
  std::string disturbed{};       // the same in words; see disturbance_of()
  double work = not_measured;    // of one operation; see VisitInfo
  Estimate time_us;              // median over visits; NaN where no trial is usable
  double min_us = not_measured;  // NetPIPE's minimum over trials
  double max_us = not_measured;
  double mean_us = not_measured;  // of transfers
  Estimate rate;                  // work / median time, per second; interval from the time's; NaN: no work is counted
  double percent_of_limit = not_measured;  // of transfers
  ByRound us_by_round{};                   // of jobs, partitions and pieces
  std::string why{};                       // why it is not usable: wrong results, no time; else empty
  bool is_timed = true;                    // a trial has a valid time
  bool is_wrong = false;                   // the payload or the results of a trial were

  bool usable() const { return why.empty(); }
};

// All points of a series, usable or not, by their axes, then by lane; of the measured lanes, numbered as in lanes().
// For every K out of Kinds.
template <class K> std::vector<Result<K>> results(const Series<K>& series) { return K::results(series); }

// The measured lanes together, trial by trial; then as above. Of a duplex, over the longest of their times; of a case
// with more_lanes that is timed on devices, the sum of the lanes' rates, because all ran all the time. The axes stay
// those of one copy, and the rate counts the copies of all lanes. Empty where only one lane is measured.
std::vector<TransferResult> results_of_all_lanes(const TransferSeries&);

}  // namespace npgpu
