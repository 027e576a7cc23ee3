// Two traces held against each other, point by point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/statistics.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// The time of one operation at one point, on one of its lanes where it has several.
template <class K> struct PointTime {
  typename K::Axes axes;
  std::uint32_t lane = 0;
  double work = not_measured;  // of that operation; see VisitInfo
  Estimate time_us;            // median; NaN where no trial is usable
  double min_us = not_measured, max_us = not_measured;
  std::string why{};  // why it is not usable: the results were wrong, or there is no time; else empty

  bool usable() const { return why.empty(); }
};
// For every K out of Kinds: each point of the series, usable or not, in the series' order.
template <class K> std::vector<PointTime<K>> estimates(const Series<K>&);
template <> std::vector<PointTime<Transfers>> estimates(const TransferSeries&);
template <> std::vector<PointTime<Probes>> estimates(const ProbeSeries&);
template <> std::vector<PointTime<Jobs>> estimates(const JobSeries&);
template <> std::vector<PointTime<Calls>> estimates(const CallSeries&);

enum class Verdict { same, faster, slower, unclear, broken, only_a, only_b };
template <>
inline constexpr std::array<std::string_view, 7> names_of<Verdict>{"same",   "faster", "slower", "unclear",
                                                                   "broken", "only-a", "only-b"};
// B did worse than A, or one of the two cannot be trusted.
constexpr bool is_failure(Verdict v) { return v == Verdict::slower || v == Verdict::broken; }

// B against A at one point.
//   slower   a regression: the medians differ by more than the tolerance, and the intervals do not overlap. Where there
//            are too few trials for an interval: every trial of B took longer than every trial of A, by more than the
//            tolerance. `faster` the other way round.
//   unclear  the medians differ by more than the tolerance, but the rest does not hold
//   broken   one of the two has wrong results or no time; the note says which and why
struct PointComparison {
  std::string_view kind;  // K::name
  std::string title;      // of the case, devices as A names them
  std::string axes;       // text_of(axes)
  std::uint32_t lane = 0;
  double a_us = not_measured;
  double b_us = not_measured;    // of the work of A's operation
  double change = not_measured;  // b/a - 1 of the times: positive is slower
  Verdict verdict = Verdict::same;
  std::string note{};
};
// Matches series by question and by order of devices, points by axes and lane.
std::vector<PointComparison> compare(const Trace& a, const Trace& b, double tolerance);

}  // namespace npgpu
