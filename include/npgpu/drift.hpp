// How a node changed over a run, and what a busy core cost: every point is visited once a round, so each is a canary
// for the others.
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

// Of one class of measurement.
struct Drift {
  TimeClass time_class = TimeClass::device_copies;
  std::size_t points = 0;  // that were visited more than once
  // Of each round that visited at least half of these points: the median over them of a visit's time over the median of
  // all visits to its point, less 1. Positive: the round was slower.
  std::vector<double> by_round{};
  // Standard deviation of the same by a point's time, less what the points' own scatter adds to it. 0 of less than ten
  // points, where drift and scatter cannot be told apart. What drifts as slowly as a run takes goes on drifting after
  // it.
  DriftByTime drift{};
  // The largest of these, by amount; with its sign.
  double most() const;
};
// Gathers visits to the points of a class.
class ClassDrift {
 public:
  using Visits = std::vector<std::pair<std::uint32_t, double>>;  // rounds, and what a visit gave in each: us
  void add(const Visits& of_a_point);                            // one visit says nothing of rounds
  Drift drift(TimeClass) const;

 private:
  // Those that are looked at together.
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
// In the order of TimeClass; only classes with points that were visited in two rounds at least.
std::vector<Drift> drifts_of(const Trace&);
// What differs from one run to the next of the same machine, and shows in no round of one run: standard deviation of
// what a run shares, beyond its drift. Measured; the source is at the numbers.
const DriftByTime& run_to_run(TimeClass);
DriftByTime with_run_to_run(DriftByTime of_run, TimeClass);  // in quadrature
// Sets what each series has of its class; reading a trace does this, too.
//   drift           in this run and from run to run, in quadrature; a simulated device is the same in each run
//   unsteady_above  5 %, or three times the median half width of the intervals of the class's points, if that is more;
//   of
//                   less than ten points, three times what runs differ by
// Left out where points of one run are held against each other, as the numbers of streams of one job are.
enum class RunToRun { counted, left_out };
void set_drifts(Trace&, RunToRun = RunToRun::counted);

// What a core whose sibling hyperthread was busy added to times that the host takes.
struct BusySibling {
  std::size_t visits = 0;      // that found no core of their own, and were disturbed by nothing else
  std::size_t points = 0;      // of these visits that were also visited on a quiet core
  double adds = not_measured;  // median over these points of their time over that on a quiet core, less 1
};
template <>
inline constexpr auto fields_of<BusySibling> = fields(field("visits", &BusySibling::visits),
                                                      field("points", &BusySibling::points),
                                                      field("adds", &BusySibling::adds));
BusySibling busy_sibling(const Trace&);

// Of a run that measured several GPUs at once, each by a process of its own: a point that was visited once more while
// the others rested.
struct BesideOthers {
  std::string gpu, what;                                     // "gpu0" of the provenance; "h2d", "d2h", "kernel"
  double beside_us = not_measured, alone_us = not_measured;  // of one repeat
  double slower() const { return beside_us / alone_us - 1; }
};
std::vector<BesideOthers> beside_others(const Trace&);  // in the order of the trace

}  // namespace npgpu
