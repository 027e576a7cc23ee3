// Curves to compare, written down by hand.
#pragma once

#include <doctest/doctest.h>

#include "npgpu/model/compare.hpp"
#include "tests/made_jobs.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace made_curves {

using namespace npgpu;

using Us = std::vector<double>;

inline const Us around_100{99.9, 100, 100.1, 99.95, 100.05, 100};

inline Us times(Us all, double factor) {
  for (double& us : all) us *= factor;
  return all;
}

// A visit for each time, in rounds 0, 1, ...; one trial each.
inline void add_rounds(TransferSeries& sweep, std::uint64_t bytes, const Us& us) {
  for (const double one : us) add_point(sweep, bytes, {one});
}
inline void add_rounds(ProbeSeries& sweep, std::uint32_t blocks, const Us& us, double mhz = not_measured) {
  for (const double one : us)
    add_point(sweep, {.blocks = blocks, .threads = 32}, 100.0 * blocks, {one}).telemetry.sm_clock_mhz = mhz;
}

// Timed by the device, as its tolerance is the smallest.
inline TransferSeries copies() { return sweep_of(Pattern::stream, Timing::gated); }

template <class S> Trace trace_of(std::initializer_list<S> all) {
  Trace trace;
  std::get<std::vector<S>>(trace.series) = all;
  return trace;
}

// One point in six rounds.
inline Trace one_point(const Us& us) {
  TransferSeries sweep = copies();
  add_rounds(sweep, 1000, us);
  return trace_of({sweep});
}

// A curve of so many points, each in six rounds, with a factor for each.
template <class FactorOf> Trace curve(std::uint64_t points, FactorOf factor_of) {
  TransferSeries sweep = copies();
  for (std::uint64_t i = 1; i <= points; ++i) add_rounds(sweep, 1000 * i, times(around_100, factor_of(i)));
  return trace_of({sweep});
}
inline Trace curve(std::uint64_t points) {
  return curve(points, [](std::uint64_t) { return 1; });
}

inline Comparison held(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  const Trace *of_a = &a, *of_b = &b;
  return compare({&of_a, 1}, {&of_b, 1}, tolerance);
}

inline CaseComparison only_case(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  const Comparison all = held(a, b, tolerance);
  REQUIRE(all.cases.size() == 1);
  return all.cases[0];
}
inline Verdict verdict(const Trace& a, const Trace& b, std::optional<double> tolerance = {}) {
  return only_case(a, b, tolerance).verdict;
}

}  // namespace made_curves
