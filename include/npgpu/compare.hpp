// One or several traces, A, held against others, B: what B has become slower at, and how sure that is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/statistics.hpp"
#include "npgpu/time_class.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// ---- the time of a point -------------------------------------------------------------------------------------------

// The time of one operation at one point, on one of its lanes where it has several.
template <class K> struct PointTime {
  typename K::Axes axes;
  std::uint32_t lane = 0;
  double work = not_measured;  // of that operation; see VisitInfo
  Estimate time_us;            // median; NaN where no trial is usable
  double min_us = not_measured, max_us = not_measured;
  std::string why{};     // why it is not usable: the results were wrong, or there is no time; else empty
  bool is_timed = true;  // a trial has a valid time

  bool usable() const { return why.empty(); }
};
// For every K out of Kinds: each point of the series, usable or not, in the series' order.
template <class K> std::vector<PointTime<K>> estimates(const Series<K>&);
template <> std::vector<PointTime<Transfers>> estimates(const TransferSeries&);
template <> std::vector<PointTime<Probes>> estimates(const ProbeSeries&);
template <> std::vector<PointTime<Jobs>> estimates(const JobSeries&);
template <> std::vector<PointTime<Calls>> estimates(const CallSeries&);
template <> std::vector<PointTime<Partitions>> estimates(const PartitionSeries&);

// ---- tolerances -----------------------------------------------------------------------------------------------------

// Which third of a curve, in order of size or shape: latencies scatter more than rates. A curve of less than six points
// is one part.
enum class Third { small, middle, large, all };
template <> inline constexpr std::array<std::string_view, 4> names_of<Third>{"small", "middle", "large", "all"};

// Differences up to this share are the same. A single point may differ by four times as much.
struct Tolerance {
  std::array<double, names_of<Third>.size()> share{};  // of each third
  std::string source{};                                // "default", "--tolerance", "learned from 10 runs of A"

  double of(Third third) const { return share[static_cast<std::size_t>(third)]; }
};
using Tolerances = std::array<Tolerance, names_of<TimeClass>.size()>;  // by class

// ---- what is found --------------------------------------------------------------------------------------------------

enum class Verdict { same, faster, slower, undecided, disturbed, broken, only_a, only_b };
template <>
inline constexpr std::array<std::string_view, 8> names_of<Verdict>{"same",      "faster", "slower", "undecided",
                                                                   "disturbed", "broken", "only-a", "only-b"};
// The verdict of a case is the first of these that one of its parts has.
inline constexpr std::array worst_first{Verdict::broken,    Verdict::slower, Verdict::faster, Verdict::undecided,
                                        Verdict::disturbed, Verdict::same,   Verdict::only_a, Verdict::only_b};
static_assert(worst_first.size() == names_of<Verdict>.size());
enum class Reason {
  none,
  clock,          // slower, faster: in time, and not in cycles: the clock is another
  interval,       // undecided: it reaches beyond the tolerance
  one_value,      // undecided: a side has one value, and that gives no interval
  two_times,      // both sides take one of two times, and a side takes both: what is judged is how often
  others,         // disturbed: others had a part in it
  wrong_results,  // broken
  no_time,        // broken: no usable trial
};
template <>
inline constexpr std::array<std::string_view, 8> names_of<Reason>{"",          "clock",  "interval",      "one-value",
                                                                  "two-times", "others", "wrong-results", "no-time"};

// B against A in one respect.
//   slower     the corrected p is below 0.05 and the change is more than the tolerance. Kernels whose time grew by more
//              than the tolerance and whose cycles did not are slower by the clock. `faster` the other way round.
//              Where times fall into two groups and a side has met both, p is that of how often it has (Fisher).
//   same       the interval lies within the tolerance
//   undecided  neither
//   disturbed  others had a part in more than half of it, on one of the sides; it is not judged
//   broken     one side has wrong results or no time
struct Change {
  double a = not_measured, b = not_measured;       // us; of a key figure, in its unit
  double change = not_measured;                    // of the times, b/a - 1: positive is slower
  double low = not_measured, high = not_measured;  // its interval of 95 %, not corrected
  double cycles = not_measured;                    // the change in cycles; NaN where clocks are not known
  double p = not_measured;                         // Welch's or Fisher's, after Holm's correction
  double tolerance = 0;
  Verdict verdict = Verdict::same;
  Reason reason = Reason::none;
  std::string note{};  // what else is to be said: who disturbed it, why it is broken
};

// A third of a curve: its points in order of size or shape. A curve of less than six points is one part.
struct PartComparison : Change {
  Third third = Third::all;
  std::string first{}, last{};  // text_of(axes)
  std::size_t points = 0;       // that both sides have
};
struct PointComparison : Change {
  std::string axes{};  // text_of(axes)
};

// A curve: a case, or one lane of it.
struct CaseComparison {
  std::string_view kind{};  // K::name
  std::string title{};      // devices as A names them
  std::uint32_t lane = 0;
  TimeClass time_class = TimeClass::device_copies;
  bool trials_stand_in = false;  // a side has one visit to each point: its trials are taken for rounds
  std::vector<PartComparison> parts{};
  std::vector<PointComparison> points{};
  Verdict verdict = Verdict::same;  // the worst of its parts and points
  Reason reason = Reason::none;
};

enum class FigureUnit { us, us_a_load, bytes_per_s, flop_per_s, operations_per_s };
template <>
inline constexpr std::array<std::string_view, 5> names_of<FigureUnit>{"us", "us a load", "B/s", "FLOP/s", "OP/s"};
// One of the numbers that stand for a device: the mean over some points of a case. It is judged like a part.
struct KeyFigure : Change {
  std::string name{};  // "copy host to device"
  std::string at{};    // "64 MiB .. 192 MiB"
  FigureUnit unit = FigureUnit::us;
};

struct Comparison {
  std::vector<CaseComparison> cases{};  // in A's order, then those that only B has
  std::vector<KeyFigure> figures{};
  Tolerances tolerances{};
  std::size_t a_runs = 0, b_runs = 0;
  std::string other_hardware{};  // why A and B are not the same hardware, in one sentence; empty if they are
};

// What it comes to; the first that holds.
enum class Outcome {
  broken,      // something is
  slower,      // something is slower, and not by the clock alone
  clock,       // something is slower by the clock
  not_slower,  // nothing is
};
template <>
inline constexpr std::array<std::string_view, 4> names_of<Outcome>{"broken", "slower", "clock", "not-slower"};
Outcome outcome_of(const Comparison&);

// ---- comparing ------------------------------------------------------------------------------------------------------

using Runs = std::span<const Trace* const>;

// Their GPUs or, where both measured the host, its processors are of another model or size. Empty if not.
std::string other_hardware(Runs a, Runs b);

// Series are matched by question and by order of devices, points by axes and lane. A visit gives one number to a point,
// its median. A part's number in a round is the mean over its points of the logarithm of time over the point's median
// of both sides; rounds with less than half of the points do not count. Means over rounds are compared (Welch 1947), or
// over runs on a side that has three or more; every p is corrected for the number of all parts and key figures, or of
// all points (Holm 1979). `tolerance`: for all classes, instead of what is usual or learned. Both sides need a run.
Comparison compare(Runs a, Runs b, std::optional<double> tolerance = {});

}  // namespace npgpu
