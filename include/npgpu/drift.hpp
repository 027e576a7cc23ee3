// How a node changed over a run, and what a busy core cost. Every point is visited once in each round, so that all
// points of a class show together what changed from round to round.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::Drift& drift : npgpu::drifts_of(trace))
//     std::cout << npgpu::name(drift.time_class) << ": " << drift.points << " points; time of the round furthest off: "
//               << 100 * drift.most() << " %\n";
//   std::cout << "a busy sibling adds " << 100 * npgpu::busy_sibling(trace).adds << " %\n";
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "npgpu/time_class.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

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

}  // namespace npgpu
