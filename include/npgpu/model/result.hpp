// What a point of a series came to: the one summary of its samples that every reader of a trace starts from. And what
// many points show together: how a node changed over a run, the fit of a curve, and classes of matrix products.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::CallSeries& series : trace.of<npgpu::Calls>())
//     for (const npgpu::CallResult& call : npgpu::results(series))
//       std::cout << title(series.question) << ": " << call.time_us.value << " us, from " << call.time_us.low << " to "
//                 << call.time_us.high << '\n';
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// One point, on one of its lanes where it has several. Times are of one operation one way: trial time / repeats, halved
// for pingpong and flag (Allada et al. 2009: T/((1+RT)*nrepeat)); device time where the case's timing is event or
// gated, host time otherwise. Rates come from summarized times (Hoefler & Belli 2015), never the other way round.
struct ResultInfo {
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
template <class K> struct Result : K::Details, ResultInfo { typename K::Axes axes{}; };

// All points of a series, usable or not, by their axes, then by lane; of the measured lanes, numbered as in lanes().
// For every K out of Kinds.
template <class K> std::vector<Result<K>> results(const Series<K>& series) { return K::results(series); }

// The measured lanes together, trial by trial; then as above. Of a duplex, over the longest of their times; of a case
// with more_lanes that is timed on devices, the sum of the lanes' rates, because all ran all the time. The axes stay
// those of one copy, and the rate counts the copies of all lanes. Empty where only one lane is measured.
std::vector<TransferResult> results_of_all_lanes(const TransferSeries&);

// How a node changed over a run, and what a busy core cost. Every point is visited once in each round, so that all
// points of a class show together what changed from round to round.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::Drift& drift : npgpu::drifts_of(trace))
//     std::cout << npgpu::name(drift.time_class) << ": " << drift.points << " points; time of the round furthest off: "
//               << 100 * drift.most() << " %\n";
//   std::cout << "a busy sibling adds " << 100 * npgpu::busy_sibling(trace).adds << " %\n";

// The drift of one class of measurement.
struct Drift {
  TimeClass time_class = TimeClass::device_copies;
  std::size_t points = 0;  // that were visited more than once
  // One value for each round that visited at least half of these points. A visit's time over the median of all visits
  // to its point, less 1; of these the median over the points. Positive: the round was slower.
  std::vector<double> by_round{};
  // The standard deviation of by_round, by a point's time, less what the points' own scatter adds to it. 0 for less
  // than ten points, because drift and scatter cannot be separated there. A drift as slow as a run goes on after it.
  DriftByTime drift{};
  // The value of by_round with the largest amount, with its sign.
  double most() const;
};
// Gathers visits to the points of a class.
class ClassDrift {
 public:
  using Visits = std::vector<std::pair<std::uint32_t, double>>;  // rounds, and the time of a visit in each: us
  void add(const Visits& of_a_point);                            // a point with one visit does not count
  Drift drift(TimeClass) const;

 private:
  // Points that are taken together.
  struct Points {
    std::size_t points = 0;
    std::map<std::uint32_t, std::vector<double>> of_round{};  // logarithms of a visit's time over that of all visits

    void add(const Visits& logs, double middle);
    std::vector<double> by_round() const;  // of rounds that visited at least half of the points: the median
    double share() const;                  // see Drift::drift
  };
  Points all_;
  std::array<Points, std::tuple_size_v<decltype(DriftByTime::share)>> by_time_;
};
// In the order of TimeClass. Only classes with points that were visited in at least two rounds.
std::vector<Drift> drifts_of(const Trace&);
// What differs between two runs on one machine, and shows in no round of one run: the standard deviation of what all
// points of a run share, beyond its drift. It was measured; the source is at the numbers.
const DriftByTime& run_to_run(TimeClass);
DriftByTime with_run_to_run(DriftByTime of_run, TimeClass);  // in quadrature
// Sets the members of each series that follow from its class. Reading a trace has done it; who makes a trace in memory
// calls this once.
//   drift           in this run and from run to run, in quadrature; a simulated device is the same in each run
//   unsteady_above  5 %, or if that is more, three times the median half width of the intervals of the class's points;
//                   for less than ten points, three times what differs between runs
void set_drifts(Trace&);
// Takes out what cannot be, and notes it in Trace::doubts: facts of a device that are negative or absurd, times below 0
// or above three years, runs of less than 0.1 ns, work of 0, readings of clocks, powers and temperatures that are
// absurd. A clock, limit or link of 0 goes without a note: some drivers answer so where they cannot read. Reading a
// trace has done it.
void set_doubts(Trace&);
// "values that cannot be are not used: gpu0: multiprocessors of -1, and 2 more"; empty of a trace without such.
std::string doubts_text(const Trace&);

// What a core with a busy sibling hyperthread added to times by the host's clock.
struct BusySibling {
  std::size_t visits = 0;      // without a core of their own, and disturbed by nothing else
  std::size_t points = 0;      // of these visits that were also visited on a quiet core
  double adds = not_measured;  // median over these points of their time over that on a quiet core, less 1
};
template <>
inline constexpr auto fields_of<BusySibling> = fields(field("visits", &BusySibling::visits),
                                                      field("points", &BusySibling::points),
                                                      field("adds", &BusySibling::adds));
BusySibling busy_sibling(const Trace&);

// A point of a run that measured several GPUs at once, each by a process of its own. It was visited once more while the
// others rested.
struct BesideOthers {
  std::string gpu, what;                                     // "gpu0" of the provenance; "h2d", "d2h", "kernel"
  double beside_us = not_measured, alone_us = not_measured;  // of one repeat
  double slower() const { return beside_us / alone_us - 1; }
};
std::vector<BesideOthers> beside_others(const Trace&);  // in the order of the trace

// The fit of a curve: latency, asymptotic rate, and the sizes where the curve bends. A pure function.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>()) {
//     if (lanes(series.question).size() > 1) continue;
//     const npgpu::CurveFit fit = npgpu::fit_curve(npgpu::results(series));
//     std::cout << title(series.question) << ": " << fit.latency_us.value << " us, " << fit.best_rate / 1e9
//               << " GB/s, half of it at " << fit.half_bytes << " bytes\n";
//   }

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
// REQUIRES: all points are of the same lane.
CurveFit fit_curve(std::span<const TransferResult> one_lane);

// Rates of matrix products, classed by the powers of two that divide their size. Allada et al. 2009 saw that a library
// is fastest where 64 divides n, and slower where only 32, 16 or 8 do (their Table III). Here the classes follow from
// numbers.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("gemm.h5");  // of npgpu probe gemm
//   for (const npgpu::ProbeSeries& series : trace.of<npgpu::Probes>())
//     if (const auto found = npgpu::classes_of(series))
//       for (const npgpu::RateClass& one : found->classes)
//         std::cout << title(series.question) << ", divided by " << one.least << " to " << one.most << ": "
//                   << one.relative.value << " of the rate\n";

inline constexpr std::uint32_t largest_divisor = 64;
// The largest power of two up to that which divides n; n is not 0.
std::uint32_t divisor_of(std::uint32_t n);

// One product of squares.
struct SizeRate {
  std::uint32_t n = 0;
  Estimate rate;  // operations per second; its interval may be NaN
};

// Sizes with a divisor_of() from `least` to `most`. 8 and 16: sizes that 8 divides and 32 does not.
struct RateClass {
  std::uint32_t least = 1, most = 1;
  std::size_t sizes = 0;
  // The rate relative to that of the neighbouring sizes that 64 divides: the median over the sizes of the class. The
  // rate of the neighbours is interpolated between the one below and the one above; with only one, it is that one's.
  // The interval is that of the median where there are 6 sizes, and otherwise spans the intervals of the sizes. NaN
  // where these have none.
  Estimate relative;
  // The median of the rates. Only sizes of at least nine tenths of the largest count, because rates grow with size.
  double rate = not_measured;
};

struct RateClasses {
  std::vector<RateClass> classes;  // by growing divisors; empty where there is nothing to compare
  std::size_t left_out = 0;        // sizes without a neighbour within 64 that 64 divides
};

// Starts with a class for each divisor. While two neighbouring classes do not differ, the two with the nearest medians
// become one. Classes differ where their medians are more than 2 % apart, and their intervals, if both have one, do not
// touch. The sizes come in any order, each once.
RateClasses rate_classes(std::span<const SizeRate>);

// The classes of a series of the probe gemm. Only squares count, and of these the largest group that is alike in all
// but its size. Nothing where they have fewer than two divisors, or the series is of another probe.
std::optional<RateClasses> classes_of(const ProbeSeries&);

}  // namespace npgpu
