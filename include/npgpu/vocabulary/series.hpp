// Kinds of measurement, the series of their results, and classes of measurement. The times of one class drift together:
// what slows one of its points slows the others. Each kind says the class of its cases: class_of().
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>())
//     std::cout << title(series.question) << ": " << npgpu::name(npgpu::class_of(series.question))
//               << ", unsteady above " << 100 * series.unsteady_above << " %\n";
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/statistics.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

enum class TimeClass {
  device_copies,    // copies by the device, and what several devices do together, timed by events
  host_copies,      // the same timed by the host's clock, or moved by its processors
  pageable_copies,  // of pageable and managed memory, and within the host's memory
  kernels,          // probes on a device, and functions that the device times
  host_probes,
  calls,       // and copies of pieces
  jobs,        // timed by the host's clock
  gated_jobs,  // timed by the device: all was enqueued before it began
  windows,     // of energy and of soaks: power and work, no times
};
template <>
inline constexpr std::array<std::string_view, 9> names_of<TimeClass>{"device-copies", "host-copies", "pageable-copies",
                                                                     "kernels",       "host-probes", "calls",
                                                                     "jobs",          "gated-jobs",  "windows"};

// The results of one case of any kind of measurement, exactly as they came: the visits to its points, and their
// samples.
//
// A kind is a struct that names its types (npgpu/vocabulary/trace.hpp lists all kinds):
//   Case     one complete question without its axes            "cudaMemcpy cuda:0 h2d pinned stream"
//   Axes     what differs between the points of a case         bytes; blocks and threads; ...
//   Sample   the result of one trial (on one lane, where a trial has several); has visit, trial and intact
//   Context  what else is known when a series begins           a theoretical limit; may be empty
// and says
//   name       of its group in a trace and its table in exports  "transfers"
//   singular   in messages                                       "transfer"
//   command    that measures it                                  "transfer"
//   timed()    the time of a trial for its schedule
//   results()  what its points came to                           npgpu/model/result.hpp
//   counted()  what the figure of a point counts                 "payload bytes"
// and more where it is not as a UsualKind has it.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   const npgpu::TransferSeries& series = trace.of<npgpu::Transfers>().at(0);
//   for (const npgpu::TransferPoint& point : npgpu::points_of(series)) {
//     std::cout << text_of(point.axes) << ":\n";
//     for (const npgpu::VisitInfo* visit : point.counted()) {
//       const auto samples = npgpu::samples_of(series, *visit);
//       for (const double us : npgpu::trial_times<npgpu::Transfers>(series.question, samples))
//         std::cout << "  round " << visit->round << ": " << us << " us\n";
//     }
//   }

// Why a point needs no more trials, or that it needs more.
enum class Stop {
  trials,         // it had its fixed number of trials (classic)
  converged,      // the interval of the median is narrow enough (adaptive)
  not_converged,  // the interval is not narrow enough (adaptive)
};
template <> inline constexpr std::array<std::string_view, 3> names_of<Stop>{"trials", "converged", "not-converged"};

inline constexpr std::string_view intact_codes = "1 compared and right, 0 wrong, -1 not compared";
// "has the unknown intact code 7"; nothing if it is one of those.
std::optional<std::string> flaw_of_intact(std::int32_t intact);
// What makes a sample invalid: "has 0 repeats"; nothing if it is valid.
template <class Sample>
requires(requires(const Sample& one) { one.intact; }) std::optional<std::string> flaw_of(const Sample& sample) {
  if constexpr (requires { sample.repeats; })
    if (sample.repeats == 0) return "has 0 repeats";
  return flaw_of_intact(sample.intact);
}

template <>
inline constexpr auto fields_of<Telemetry> = fields(field("sm_clock_mhz", &Telemetry::sm_clock_mhz, "MHz"),
                                                    field("memory_clock_mhz", &Telemetry::memory_clock_mhz, "MHz"),
                                                    field("power_w", &Telemetry::power_w, "W"),
                                                    field("temperature_c", &Telemetry::temperature_c, "degC"),
                                                    field("throttle_reasons", &Telemetry::throttle_reasons));

// NVML's reasons that lower clocks: software power cap, hardware slowdown, software and hardware thermal slowdown,
// power brake. Idle, application clocks and the like are choices.
inline constexpr std::uint64_t slowing_reasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

// Older traces have copies and launches that were measured while a second process used the device; `beside` says what
// that did. Such times do not hold for a program that has its device to itself.
template <class Case> bool is_beside(const Case& c) {
  if constexpr (requires { c.beside; }) return c.beside != "nobody";
  else return false;
}

// The members of visits of all kinds.
struct VisitInfo {
  std::uint32_t round = 0;  // of the run: a point is visited at most once in each
  // The work of one repeat, in the unit of its kind: bytes, operations, loads, calls; NaN where none is counted.
  double work = not_measured;
  std::uint64_t first_sample = 0;  // row of the series' samples
  std::uint32_t samples = 0;
  std::uint32_t void_trials = 0;  // dropped, because their gate timed out
  Stop stop = Stop::trials;       // of the point after this visit
  double wall_us = 0;             // of the whole visit: warm-up, trials and checks
  double at_s = not_measured;     // its beginning, since the beginning of the run
  std::uint32_t disturbed = 0;    // causes
  ShortText disturber;            // the process that took most: "python3 (4711)"; empty if not known
  Telemetry telemetry;            // read after the last trial

  // The causes of disturbance, including those in its telemetry.
  std::uint32_t causes() const {
    const bool slowed = (telemetry.throttle_reasons & slowing_reasons) != 0;
    return disturbed | (slowed ? static_cast<std::uint32_t>(Cause::throttled) : 0);
  }

  bool operator==(const VisitInfo&) const = default;
};
template <>
inline constexpr auto fields_of<VisitInfo> = fields(
    field("round", &VisitInfo::round), field("work", &VisitInfo::work), field("first_sample", &VisitInfo::first_sample),
    field("samples", &VisitInfo::samples), field("void_trials", &VisitInfo::void_trials),
    field("stop", &VisitInfo::stop), field("wall_us", &VisitInfo::wall_us, "us"), field("at_s", &VisitInfo::at_s, "s"),
    field("disturbed", &VisitInfo::disturbed, "1", cause_codes), field("disturber", &VisitInfo::disturber),
    field("telemetry", &VisitInfo::telemetry));

// The kind of a series' error.
enum class Failure {
  none,
  failed,     // none of the kinds below
  wrong,      // results were wrong; the series went on
  lost,       // the device stopped answering, or had done so before
  defect,     // the device reported a defect of its own hardware
  context,    // a kernel faulted, and the process's context on the device is dead
  no_memory,  // of the device or the host
};
template <>
inline constexpr std::array<std::string_view, 7> names_of<Failure>{"none",   "failed",  "wrong",    "lost",
                                                                   "defect", "context", "no-memory"};
constexpr Failure failure_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::lost: return Failure::lost;
    case ErrorKind::defect: return Failure::defect;
    case ErrorKind::context: return Failure::context;
    case ErrorKind::no_memory: return Failure::no_memory;
    default: return Failure::failed;
  }
}

struct SeriesError {
  std::string text{};
  Failure kind = Failure::none;
  std::string device{};  // as SeriesInfo's
};

// How and on which device a series was measured, and its error.
struct SeriesInfo {
  std::string schedule;     // "classic ..." or "adaptive ..." with its numbers
  std::string device_uuid;  // empty where there is none
  std::string device_name;
  bool simulated = false;           // a simulated device: no measurement of hardware
  std::string binding;              // where buffers and thread were bound
  std::string error;                // why it stopped early, or what was wrong in it; empty if nothing
  Failure failure = Failure::none;  // the kind of that error
  std::string failed_device;        // where that may not be the case's device; empty: it is

  bool operator==(const SeriesInfo&) const = default;
};
template <>
inline constexpr auto fields_of<SeriesInfo> = fields(
    field("schedule", &SeriesInfo::schedule), field("device_uuid", &SeriesInfo::device_uuid),
    field("device_name", &SeriesInfo::device_name), field("simulated", &SeriesInfo::simulated),
    field("binding", &SeriesInfo::binding), field("error", &SeriesInfo::error),
    optional_field("failure", &SeriesInfo::failure), optional_field("failed_device", &SeriesInfo::failed_device));

// A point to be measured.
template <class K> struct Step {
  typename K::Case question;
  typename K::Axes axes;

  auto operator<=>(const Step&) const = default;
};

// One burst of trials at one point, in buffers of its own.
template <class K> struct Visit : VisitInfo { typename K::Axes axes; };

// The common drift of all points of a class, from round to round or from run to run. It depends on a point's time:
// below 10 us, 100 us and 1 ms, and above. Standard deviations, as shares of a time.
struct DriftByTime {
  std::array<double, 4> share{};

  static std::size_t band(double us) { return (us >= 10) + (us >= 100) + std::size_t{us >= 1000}; }
  double at(double us) const { return share[band(us)]; }
};

// No figure with a half width below this share of its value is called unsteady.
constexpr double least_unsteady = 0.05;

// One case over its points, visit by visit in order of time.
template <class K> struct Series : SeriesInfo, K::Context {
  typename K::Case question;
  std::vector<Visit<K>> visits;
  std::vector<typename K::Sample> samples;
  // These are not in the trace, but follow from it: see npgpu/model/result.hpp. REQUIRES: read_trace() or set_drifts().
  DriftByTime drift;
  double unsteady_above = least_unsteady;  // an interval's half width, over the value

  bool is_unsteady(const Estimate& e) const { return half_width(e) > unsteady_above; }
};

// The columns of a visit: its axes, then those of all visits. The attributes of a series: its case, its context, then
// those of all series.
template <class K>
inline constexpr auto fields_of<Visit<K>> = joined(fields(field("axes", &Visit<K>::axes)), fields_of<VisitInfo>);
template <class K>
inline constexpr auto fields_of<Series<K>> = joined(fields(field("case", &Series<K>::question)),
                                                    fields_of<typename K::Context>, fields_of<SeriesInfo>);

// The samples of a visit; fewer than it claims where the table is shorter.
template <class K> std::span<const typename K::Sample> samples_of(const Series<K>& series, const VisitInfo& visit) {
  const std::span<const typename K::Sample> all(series.samples);
  const std::size_t first = std::min<std::size_t>(visit.first_sample, all.size());
  return all.subspan(first, std::min<std::size_t>(visit.samples, all.size() - first));
}

// Whether so many visits are enough for the figures of a point to use them alone.
constexpr bool are_enough(std::size_t undisturbed, std::size_t visits) { return 2 * undisturbed >= visits; }

// The causes of which none may have disturbed a visit that a point's figures use; 0 where they use all visits. The
// undisturbed visits are used; else those that nobody else disturbed, as of a device that throttles all the time; else
// all. Each only where they are at least half of all.
std::uint32_t causes_left_out(std::span<const std::uint32_t> causes_of_visits);

// A point of a series: its visits, in order of time. REQUIRES: the series outlives it, and does not change.
struct PointInfo {
  std::vector<const VisitInfo*> visits;  // never empty

  double work() const { return visits.front()->work; }
  Stop stop() const { return visits.back()->stop; }
  // The visits that its figures use.
  std::vector<const VisitInfo*> counted() const;
  // The causes that make its figures doubtful; 0 where they use undisturbed visits only.
  std::uint32_t disturbed() const;
};
template <class K> struct Point : PointInfo { typename K::Axes axes; };

// The processes that disturbed the visits that its figures use.
std::set<std::string> disturbers_of(const PointInfo&);
// What makes its figures doubtful, in the words of disturbance_text(); empty where they use undisturbed visits only.
std::string disturbance_of(const PointInfo&);
// The points, in the order of their first visits. For every K out of Kinds, as what follows.
template <class K> std::vector<Point<K>> points_of(const Series<K>& series);
template <class K> std::map<typename K::Axes, Point<K>> points_by_axes(const Series<K>& series);
template <class K, class Predicate> bool any_sample(const Series<K>& series, const Point<K>& point, Predicate is) {
  return std::ranges::any_of(
      point.visits, [&](const VisitInfo* visit) { return std::ranges::any_of(samples_of(series, *visit), is); });
}
// The number of trials of the visits that count.
template <class K> std::uint32_t trials_of(const Series<K>& series, const Point<K>& point);
// The values of a function of samples, by visit, for the visits that count. NaNs are left out.
template <class K, class ValueOf> ByVisit values_of(const Series<K>& series, const Point<K>& point, ValueOf value_of) {
  ByVisit all;
  for (const VisitInfo* visit : point.counted()) {
    std::vector<double>& values = all.emplace_back();
    for (const auto& sample : samples_of(series, *visit))
      if (const double value = value_of(sample); std::isfinite(value)) values.push_back(value);
  }
  return all;
}

// The times of a visit's trials in us per repeat: K::timed() of each.
template <class K>
std::vector<double> trial_times(const typename K::Case& question, std::span<const typename K::Sample> samples);

// An empty context.
struct NoContext {
  bool operator==(const NoContext&) const = default;
};
template <> inline constexpr auto fields_of<NoContext> = fields();

// How long a point takes: one repeat, and to prepare it and compare its results. Round figures: a host of 2 cores, a
// GPU on PCIe 5. What a simulated device does takes no time, but the beginnings of its buffers are filled and compared.
struct PointCost {
  Seconds repeat{1e-6};
  Seconds rest{0};

  static Seconds moving(double bytes, double bytes_per_s) { return Seconds{bytes / bytes_per_s}; }
};

struct FigureChoice;               // npgpu/model/compare.hpp
struct Repetition;                 // npgpu/measuring/campaign.hpp
template <class K> struct Result;  // npgpu/model/result.hpp

// What a kind is that says nothing else.
struct UsualKind {
  using Context = NoContext;
  struct Details {};  // of a result; times in us are medians over visits
  static constexpr std::string_view smaller = "measure smaller sizes (--end, --sizes)";  // where memory is short
  static constexpr bool is_compared = true;   // its times are, point by point
  static constexpr bool is_copy = false;      // a device is copying, and not computing, at its points
  static constexpr bool is_of_device = true;  // a device is judged by its points
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const auto& /*step*/) { return {}; }
  // The work of a visit, where the axes say it.
  static double work(const auto& /*question*/, const auto& /*axes*/) { return not_measured; }
  // Devices that a case uses in addition to its batch's.
  static std::vector<std::string> other_devices(const auto& /*question*/) { return {}; }
  // The figure that stands for a point where it has only one, in the unit that the kind is known by.
  static Estimate figure(const auto& /*question*/, const auto& result) { return result.time_us; }
  // Those of a case that stand for its device.
  static std::vector<FigureChoice> key_figures(const auto& question, std::uint32_t lane);
};

}  // namespace npgpu
