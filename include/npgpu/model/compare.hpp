// One or several traces, A, compared with others, B: what B has become slower at, how sure that is, and what could not
// have been seen.
//
// Example:
//   const npgpu::Trace before = npgpu::read_trace("node.h5"), now = npgpu::read_trace("later.h5");
//   const npgpu::Trace *const a = &before, *const b = &now;
//   const npgpu::Comparison all = npgpu::compare({&a, 1}, {&b, 1});
//   for (const npgpu::FigureChange& figure : all.figures)
//     if (figure.verdict == npgpu::Verdict::slower) std::cout << figure.change << '\n';
//   std::cout << npgpu::name(npgpu::outcome_of(all)) << '\n';
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/result.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/series.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// ---- what does not matter -------------------------------------------------------------------------------------------

// Which third of a curve, in order of size or shape: latencies scatter more than rates. A curve of less than six points
// is one part.
enum class Third { small, middle, large, all };
template <> inline constexpr std::array<std::string_view, 4> names_of<Third>{"small", "middle", "large", "all"};

// Changes up to this share do not matter. A single point may differ by four times as much.
struct Tolerance {
  std::array<double, names_of<Third>.size()> share{};  // of each third
  std::string source{};                                // "default", "--tolerance"

  double of(Third third) const { return share[static_cast<std::size_t>(third)]; }
};
using Tolerances = std::array<Tolerance, names_of<TimeClass>.size()>;  // by class

// ---- what is found --------------------------------------------------------------------------------------------------

enum class Verdict { same, faster, slower, cannot_tell, disturbed, no_figure, broken, only_a, only_b };
template <>
inline constexpr std::array<std::string_view, 9> names_of<Verdict>{
    "same", "faster", "slower", "cannot-tell", "disturbed", "no-figure", "broken", "only-a", "only-b"};
// The verdict of a case is the first of these that one of its parts has.
inline constexpr std::array worst_first{Verdict::broken, Verdict::no_figure,   Verdict::slower,
                                        Verdict::faster, Verdict::cannot_tell, Verdict::disturbed,
                                        Verdict::same,   Verdict::only_a,      Verdict::only_b};
static_assert(worst_first.size() == names_of<Verdict>.size());
enum class Reason {
  none,
  clock,       // slower, faster: in time, and not in cycles: the clock is another
  interval,    // cannot tell: it reaches beyond the tolerance
  few_values,  // cannot tell: a side has fewer than four values (three runs), by which chance and change cannot be told
               // apart
  two_times,   // both sides take one of two times, and a side takes both: what is judged is how often
  others,      // disturbed: others had a part in it
  wrong_results,  // broken
  no_time,        // no figure: no trial has a time that can be one
  stopped,        // no figure: its series stopped before it
};
template <>
inline constexpr std::array<std::string_view, 9> names_of<Reason>{
    "", "clock", "interval", "few-values", "two-times", "others", "wrong-results", "no-time", "stopped"};

// B against A in one respect.
//   slower       the corrected p is below 0.01, and B takes longer by more than the tolerance beyond what its class
//   took
//                longer. Kernels whose time grew by more than the tolerance and whose cycles did not are slower by the
//                clock. `faster` the other way round. Where times fall into two groups and a side has met both, p is
//                that of how often it has (Fisher).
//   same         the interval lies within the tolerance
//   cannot tell  neither: a change from `shown` on would have been found, and a smaller one may be there
//   disturbed    others had a part in more than half of it, on one of the sides; it is not judged
//   no figure    one side measured it, or was to, and no time came of it
//   broken       one side has wrong results
struct Change {
  double a = not_measured, b = not_measured;  // us; of a key figure, in its unit
  double change = not_measured;               // of the times, b/a - 1 of these two: positive is slower
  // What of the change is its own. How much of its class's change a case shares is not known, between nothing and all
  // of it: `own` is what is left in the better case, and the interval of 95 %, not corrected, is of both.
  double own = not_measured, low = not_measured, high = not_measured;
  double cycles = not_measured;  // the change in cycles; NaN where clocks are not known
  double p = not_measured;       // Welch's t or Fisher's, after Holm's correction
  double tolerance = 0;
  double shown = not_measured;  // the least change that would have been called slower in nine of ten such pairs
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

// A curve: a case, or one lane of it; of pieces one way to copy them.
struct ComparedCase {
  std::string_view kind{};  // K::name
  std::string title{};      // devices as A names them
  std::string name{};       // shorter, for a sentence: "H2D pinned, async copies"
  std::uint32_t lane = 0;
  TimeClass time_class = TimeClass::device_copies;
  bool trials_stand_in = false;  // a side has one visit to each point: its trials are taken for rounds
};
struct CaseComparison : ComparedCase {
  std::vector<PartComparison> parts{};
  std::vector<PointComparison> points{};
  Verdict verdict = Verdict::same;  // the worst of its parts and points
  Reason reason = Reason::none;
};

enum class FigureUnit { us, us_a_load, bytes_per_s, flop_per_s, operations_per_s };
template <>
inline constexpr std::array<std::string_view, 5> names_of<FigureUnit>{"us", "us a load", "B/s", "FLOP/s", "OP/s"};
// Which points of a case a key figure is the mean of.
enum class Among { largest, smallest, fastest };
struct FigureChoice {
  std::string name{};
  Among among = Among::largest;
  FigureUnit unit = FigureUnit::us;
  bool of_memory = false;  // unless its working set fits the cache
};
std::vector<FigureChoice> UsualKind::key_figures(const auto&, std::uint32_t) { return {}; }
// One of the numbers that stand for a device: `a` and `b` are its key figure (npgpu/judge/health.hpp) where it is one,
// of several runs the median; else the mean over some points of a case. The change is that of these points, and is
// judged like a part.
struct FigureChange : Change {
  std::string name{};  // "copy host to device"
  std::string at{};    // "64 MiB .. 192 MiB"
  FigureUnit unit = FigureUnit::us;
  TimeClass time_class = TimeClass::device_copies;
};

// The energy of a kind of work for each operation or byte, over idle: `a` and `b` in J; of idle, W of the device. Of
// several runs on a side the geometric mean. Here `slower` is more energy, and `faster` less. Rest is judged between
// runs that were as warm. No such change makes an outcome slower.
struct EnergyChange : Change {
  EnergyCase question{};  // devices as A names them
};

// What all points of a class have in common, among those that take about as long: the median of their changes. Nothing
// is known of less than ten points. Nor is it where the median is slower or faster, and most cases did not change so.
struct SharedChange : Change {
  std::size_t band = 0;    // as DriftByTime has it
  std::size_t points = 0;  // that both sides have
  // Where it is slower or faster: the cases that have these points, and those that changed by at least half as much.
  std::size_t cases = 0, sharing = 0;
};
struct ClassComparison {
  TimeClass time_class = TimeClass::device_copies;
  std::vector<SharedChange> shared{};                            // of the bands that have points
  double least_shown = not_measured, most_shown = not_measured;  // of its parts and key figures
};

struct Comparison {
  std::vector<CaseComparison> cases{};  // in A's order, then those that only B has
  std::vector<FigureChange> figures{};
  std::vector<ClassComparison> classes{};  // those that both sides have, in their order
  std::vector<EnergyChange> energies{};    // in A's order, then those that only B has
  Tolerances tolerances{};
  std::string other_hardware{};  // why A and B are not the same hardware, in one sentence; empty if they are
  std::string other_cards{};     // the same of two cards of one model; such differ, healthy ones, too
  std::size_t soaks = 0;         // series of soaks in B, which are not compared
  bool judges_cards = false;     // what differs between cards counts all the same
};

// What it comes to; the first that holds.
enum class Outcome {
  broken,       // something is, or has no figure
  cards,        // something is slower, on another card than A's
  slower,       // something is slower, and not by the clock alone
  clock,        // something is slower by the clock
  not_judged,   // no case is undisturbed in both
  cannot_tell,  // nothing is slower, as far as can be told: not all of it is judged, or nothing that takes time
  not_slower,   // nothing is, and both sides have all of it, undisturbed
};
template <>
inline constexpr std::array<std::string_view, 7> names_of<Outcome>{"broken",     "between-cards", "slower",    "clock",
                                                                   "not-judged", "cannot-tell",   "not-slower"};
Outcome outcome_of(const Comparison&);
bool is_of_one_side(Verdict);           // the other has not measured it
bool is_judged(const CaseComparison&);  // both sides have it, undisturbed

// ---- comparing ------------------------------------------------------------------------------------------------------

using Runs = std::span<const Trace* const>;

// Their GPUs or, where both measured the host, its processors are of another model or size. Empty if not.
std::string other_hardware(Runs a, Runs b);
// GPUs that stand at the same place in A and in B have other UUIDs. Empty if not, or if they are not known.
std::string other_cards(Runs a, Runs b);

// Series are matched by question and by order of devices, points by axes and lane. A visit gives one number to a point,
// its median. A part's number in a round is the mean over its points of the logarithm of time over the point's median
// of both sides; rounds with less than half of the points do not count. Medians over rounds are compared, or over runs
// on a side that has three or more, and Welch's test (1947) says by their spread how sure a difference is; a side that
// is one or two runs differs from the next ones by what is known of its class, too (npgpu/model/result.hpp). Every p is
// corrected for the number of all parts and key figures, or of all points, or of all classes (Holm 1979). `tolerance`:
// for all classes, instead of the default. REQUIRES: both sides have a run.
Comparison compare(Runs a, Runs b, std::optional<double> tolerance = {});

}  // namespace npgpu
