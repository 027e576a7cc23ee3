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

// What only one kind has. Times in us are medians over visits.
template <class K> struct ResultDetails {};
template <> struct ResultDetails<Probes> {
  Estimate cycle_rate;              // work over the median of the cycles; see model::rates_of()
  double clock_mhz = not_measured;  // of the run: cycles over time; what telemetry read where there are no cycles
  std::vector<std::string> doubts;  // a sentence each
};
template <> struct ResultDetails<Jobs> {
  double issue_us = not_measured;   // of all asynchronous calls
  double create_us = not_measured;  // fresh streams
  double destroy_us = not_measured;
  double speed_up = not_measured;  // over the same job unsplit in one stream, if that is there
};
template <> struct ResultDetails<Calls> {
  Estimate host_us;  // until the call returns; back-to-back: its share of the row
  Estimate done_us;  // until its work is done; NaN where it leaves none
  Estimate slowed;   // of frees: a read's time until then over that of one alone; NaN where none took longer
};
template <> struct ResultDetails<Partitions> {
  Estimate stage2_us, rest_us;                                // of the whole, on the host; and all else
  std::array<Estimate, partition_stages.size()> stages_us{};  // timed by stages only
  double residual = not_measured;                             // the largest

  const Estimate& of(std::size_t part, Stage stage) const { return stages_us[place_of(part, stage)]; }
};

template <> struct ResultDetails<Pieces> {
  Estimate host_us;  // until the calls of one copy of all pieces have returned
};

template <> struct ResultDetails<Energies> {
  Estimate power_w;       // of the whole device, by the meter
  Estimate read_power_w;  // by readings of the instantaneous power in the same windows; NaN where there are none
  double clock_mhz = not_measured, temperature_c = not_measured;
};

template <> struct ResultDetails<Collectives> {
  Estimate bus_rate;                         // bytes per second; `rate` is the algorithm bandwidth
  Estimate host_us;                          // until all GPUs were done; behind a gate not measured
  std::vector<double> lanes_us{};            // by each GPU's events, one operation
  std::vector<std::uint32_t> wrong_lanes{};  // GPUs whose results were wrong
  // What the library chose, as in CollectiveSample; -1: not known, or not always the same.
  std::int32_t algorithm = -1, protocol = -1, channels = -1, path = -1;
};

// One point, on one of its lanes where it has several. Times are of one operation one way: trial time / repeats, halved
// for pingpong and flag (Allada et al. 2009: T/((1+RT)*nrepeat)); device time where the case's timing is event or
// gated, host time otherwise. Rates come from summarized times (Hoefler & Belli 2015), never the other way round.
template <class K> struct Result : ResultDetails<K> {
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
using TransferResult = Result<Transfers>;
using ProbeResult = Result<Probes>;
using JobResult = Result<Jobs>;
using CallResult = Result<Calls>;
using PartitionResult = Result<Partitions>;
using EnergyResult = Result<Energies>;
using SoakResult = Result<Soaks>;
using PieceResult = Result<Pieces>;
using CollectiveResult = Result<Collectives>;

// All points of a series, usable or not, by their axes, then by lane; of the measured lanes, numbered as in lanes().
// For every K out of Kinds.
template <class K> std::vector<Result<K>> results(const Series<K>&);
template <> std::vector<TransferResult> results(const TransferSeries&);
template <> std::vector<ProbeResult> results(const ProbeSeries&);
template <> std::vector<JobResult> results(const JobSeries&);
template <> std::vector<CallResult> results(const CallSeries&);
template <> std::vector<PartitionResult> results(const PartitionSeries&);
template <> std::vector<EnergyResult> results(const EnergySeries&);
template <> std::vector<SoakResult> results(const SoakSeries&);
template <> std::vector<PieceResult> results(const PieceSeries&);
template <> std::vector<CollectiveResult> results(const CollectiveSeries&);

// The measured lanes together, trial by trial; then as above. Of a duplex, over the longest of their times; of a case
// with more_lanes that is timed on devices, the sum of the lanes' rates, because all ran all the time. The axes stay
// those of one copy, and the rate counts the copies of all lanes. Empty where only one lane is measured.
std::vector<TransferResult> results_of_all_lanes(const TransferSeries&);

}  // namespace npgpu
