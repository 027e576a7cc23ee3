// How a node changed over a run, and what a busy core cost: every point is visited once a round, so each is a canary
// for the others.
#pragma once

#include <cstddef>
#include <string>
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
  // it: of ten runs of characterize on an H200, 91 % of the intervals over visits alone held the median of the ten, and
  // 95 % of those that reach further by this share.
  DriftByTime drift{};
  // The largest of these, by amount; with its sign.
  double most() const;
};
// In the order of TimeClass; only classes with points that were visited in two rounds at least.
std::vector<Drift> drifts_of(const Trace&);
// Sets the drift of each series to that of its class. To that of a GPU's kernels it adds 0.1 %, by which the clock
// differs from run to run. Reading a trace does this, too.
void set_drifts(Trace&);

// What a core whose sibling hyperthread was busy added to times that the host takes.
struct BusySibling {
  std::size_t visits = 0;      // that found no core of their own, and were disturbed by nothing else
  std::size_t points = 0;      // of these visits that were also visited on a quiet core
  double adds = not_measured;  // median over these points of their time over that on a quiet core, less 1
};
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
