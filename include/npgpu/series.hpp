// What one case of any kind of measurement gave, exactly as it came: its points, and the samples of each.
//
// A kind is a struct that names its types (npgpu/kinds.hpp lists all kinds):
//   Case     one complete question, but for the axes           "cudaMemcpy cuda:0 h2d pinned stream"
//   Axes     what the points of a case differ in               bytes; blocks and threads; ...
//   Sample   what one trial gave (of one lane, where a trial has several); has point, trial and intact
//   Context  what else is known when a series begins           a theoretical limit; may be empty
// and says
//   name     of its group in a trace and its table in exports  "transfers"
//   singular in messages                                       "transfer"
//   timed()  the time of a trial that a schedule is fed with
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/device.hpp"
#include "npgpu/field.hpp"
#include "npgpu/names.hpp"
#include "npgpu/units.hpp"

namespace npgpu {

// Why a point's schedule stopped.
enum class Stop {
  trials,         // it had its fixed number of trials (classic)
  converged,      // the interval of the median is narrow enough (adaptive)
  not_converged,  // the budget ran out first
};
template <> inline constexpr std::array<std::string_view, 3> names_of<Stop>{"trials", "converged", "not-converged"};

inline constexpr std::string_view intact_codes = "1 compared and right, 0 wrong, -1 not compared";
// "has the unknown intact code 7"; nothing if it is one of those.
std::optional<std::string> flaw_of_intact(std::int32_t intact);

template <>
inline constexpr auto fields_of<Telemetry> = std::tuple{
    field("sm_clock_mhz", &Telemetry::sm_clock_mhz, "MHz"),
    field("memory_clock_mhz", &Telemetry::memory_clock_mhz, "MHz"), field("power_w", &Telemetry::power_w, "W"),
    field("temperature_c", &Telemetry::temperature_c, "degC"), field("throttle_reasons", &Telemetry::throttle_reasons)};

// What the points of all kinds have.
struct PointInfo {
  // Of one repeat, in what the kind counts: bytes, operations, loads, calls; NaN where it counts nothing.
  double work = not_measured;
  std::uint64_t first_sample = 0;  // row of the series' samples
  std::uint32_t samples = 0;
  std::uint32_t void_trials = 0;  // thrown away, because their gate timed out
  Stop stop = Stop::trials;
  double wall_us = 0;   // spent on the point in all: warm-up, trials and checks
  Telemetry telemetry;  // read after the last trial

  bool operator==(const PointInfo&) const = default;
};
template <>
inline constexpr auto fields_of<PointInfo> =
    std::tuple{field("work", &PointInfo::work),          field("first_sample", &PointInfo::first_sample),
               field("samples", &PointInfo::samples),    field("void_trials", &PointInfo::void_trials),
               field("stop", &PointInfo::stop),          field("wall_us", &PointInfo::wall_us, "us"),
               field("telemetry", &PointInfo::telemetry)};

// How, on what and with what result a series was measured.
struct SeriesInfo {
  std::string schedule;     // "classic ..." or "adaptive ..." with its numbers: what produced the trials
  std::string device_uuid;  // empty where there is none
  std::string device_name;
  bool simulated = false;  // a simulated device: no measurement of hardware
  std::string binding;     // what buffers and thread were bound to
  std::string error;       // why it stopped early, or what was wrong in it; empty if nothing

  bool operator==(const SeriesInfo&) const = default;
};
template <>
inline constexpr auto fields_of<SeriesInfo> =
    std::tuple{field("schedule", &SeriesInfo::schedule),       field("device_uuid", &SeriesInfo::device_uuid),
               field("device_name", &SeriesInfo::device_name), field("simulated", &SeriesInfo::simulated),
               field("binding", &SeriesInfo::binding),         field("error", &SeriesInfo::error)};

// A point to be measured.
template <class K> struct Step {
  typename K::Case question;
  typename K::Axes axes;

  auto operator<=>(const Step&) const = default;
};

template <class K> struct Point : PointInfo { typename K::Axes axes; };

// One case over its points.
template <class K> struct Series : SeriesInfo, K::Context {
  typename K::Case question;
  std::vector<Point<K>> points;
  std::vector<typename K::Sample> samples;
};

// A point's columns: its axes, then what all points have. A series' attributes: its case, its context, then what all
// series have.
template <class K>
inline constexpr auto fields_of<Point<K>> = std::tuple_cat(std::tuple{field("axes", &Point<K>::axes)},
                                                           fields_of<PointInfo>);
template <class K>
inline constexpr auto fields_of<Series<K>> = std::tuple_cat(std::tuple{field("case", &Series<K>::question)},
                                                            fields_of<typename K::Context>, fields_of<SeriesInfo>);

// The samples that a point owns; fewer than it claims where the table is shorter.
template <class K> std::span<const typename K::Sample> samples_of(const Series<K>& series, const PointInfo& point) {
  const std::span<const typename K::Sample> all(series.samples);
  const std::size_t first = std::min<std::size_t>(point.first_sample, all.size());
  return all.subspan(first, std::min<std::size_t>(point.samples, all.size() - first));
}

// A context that says nothing.
struct NoContext {
  bool operator==(const NoContext&) const = default;
};
template <> inline constexpr auto fields_of<NoContext> = std::tuple{};

}  // namespace npgpu
