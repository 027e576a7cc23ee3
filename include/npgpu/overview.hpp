// What a trace says of a node, on one page. The numbers are gathered once, so that the screen, JSON, Markdown and HTML
// show the same ones, and those are the ones that reports and derive show.
//
// Example:
//   const npgpu::Overview all = npgpu::overview_of(npgpu::read_trace("node.h5"));
//   for (const npgpu::DeviceOverview& gpu : all.gpus) std::cout << gpu.id << ' ' << gpu.name << '\n';
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/drift.hpp"
#include "npgpu/health.hpp"
#include "npgpu/predict.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

struct PointCounts {
  std::size_t points = 0, unsteady = 0, disturbed = 0, unusable = 0;

  void operator+=(const PointCounts&);
};
template <>
inline constexpr auto fields_of<PointCounts> = fields(field("points", &PointCounts::points),
                                                      field("unsteady", &PointCounts::unsteady),
                                                      field("disturbed", &PointCounts::disturbed),
                                                      field("unusable", &PointCounts::unusable));

// A number that stands for one point or for many.
struct Figure {
  std::string name{};  // "read", "fp32", "launch"
  Estimate value{};    // with its unit
  double percent_of_peak = not_measured;
  double percent_at_clock = not_measured;  // of the peak at the clock of the run
  double clock_mhz = not_measured;         // that clock
  bool unsteady = false;                   // its interval is wide, even for its class
  std::string disturbed{};                 // by what; empty if not
  std::string note{};                      // what else makes it doubtful

  bool is_known() const { return value.value == value.value; }
};

// One case of copies over all its sizes; several lanes: together.
struct CopyCurve {
  TransferCase question{};
  std::string name{};     // "H2D pinned, async": unique among the device's
  bool is_usual = false;  // one of the most informative ones; the others are variants
  Limit limit{};
  std::vector<TransferResult> points{};  // by size
  double half_bytes = not_measured;      // n_1/2, see CurveFit
  PointCounts counts{};
  std::string error{};

  const TransferResult* at(std::uint64_t bytes) const;  // null if that size was not measured
  const TransferResult* largest() const;                // null without points
};

// A cache, or memory behind all of them, by the time of a load.
struct MemoryLevel {
  std::string name{};                          // "shared", "L1", "L2 near", "memory"
  std::optional<Parameter> latency{}, size{};  // as derive() has them: ns, bytes
};

// What streams bring to a job.
struct StreamAdvice {
  struct Time {
    std::uint32_t streams = 1;
    Estimate us{};
  };
  std::string name{};  // "as much out as in"
  Job job{};
  double one_us = not_measured;  // in one stream
  std::uint32_t enough = 1;      // the fewest streams within 1 % of the best
  double enough_us = not_measured;
  std::uint32_t best = 1;
  Estimate best_us{};
  double speed_up = not_measured;  // of the best over one stream
  Bound bound = Bound::compute;
  Seconds bound_time{0};
  std::vector<Time> times{};  // of some of the numbers that were tried, the best among them
};

// What was read of a device after a visit.
struct TelemetryPoint {
  double at_s = not_measured;  // after the run began
  double sm_clock_mhz = not_measured, power_w = not_measured, temperature_c = not_measured;
  std::uint64_t slowing = 0;  // reasons that take clocks away
};
struct TelemetryRange {
  std::size_t visits = 0, slowed = 0;
  double max_sm_clock_mhz = not_measured, min_sm_clock_mhz = not_measured;
  double max_power_w = not_measured, max_temperature_c = not_measured;
};
template <>
inline constexpr auto fields_of<TelemetryRange> = fields(
    field("visits", &TelemetryRange::visits), field("max_sm_clock_mhz", &TelemetryRange::max_sm_clock_mhz, "MHz"),
    field("min_sm_clock_mhz", &TelemetryRange::min_sm_clock_mhz, "MHz"),
    field("max_power_w", &TelemetryRange::max_power_w, "W"),
    field("max_temperature_c", &TelemetryRange::max_temperature_c, "C"),
    field("slowed_visits", &TelemetryRange::slowed));
TelemetryRange range_of(const std::vector<TelemetryPoint>&);

struct DeviceOverview {
  std::string id{}, uuid{}, name{};  // cuda:0
  bool simulated = false;
  Facts facts{};  // from the provenance; empty if there are none

  std::vector<CopyCurve> copies{};  // those that are usual first
  std::vector<Figure> bandwidth{};  // bytes per second: read, write, copy, triad, rmw
  std::vector<Figure> compute{};    // operations per second, by type
  std::vector<Figure> tensor{};     // the same of tensor cores
  std::vector<Figure> energy{};     // W at rest; pJ a byte or operation over idle (npgpu/energy_figures.hpp)
  std::vector<MemoryLevel> levels{};
  std::vector<Figure> calls{};              // us
  std::vector<Figure> stream_costs{};       // us; "copy engines" is a count
  std::vector<StreamAdvice> advice{};       // typical jobs
  std::string why_no_advice{};              // if there are costs, and they do not suffice
  std::optional<JobResult> best_job{};      // of the whole jobs that were measured, the one that streams sped up most
  std::vector<TelemetryPoint> telemetry{};  // in order of time
};

// A number of one of several devices that stands apart from those of the others.
struct Difference {
  std::string device{}, what{};  // "cuda:3", "H2D pinned, async at 192 MiB"
  Estimate value{};
  double others = not_measured;  // median of the others
  double worse_by = 0;           // share, always positive
};

struct Quality {
  PointCounts all{};
  std::vector<std::pair<TimeClass, PointCounts>> classes{};  // those that have points
  std::size_t compared = 0, wrong = 0;                       // points whose results were compared, and were wrong
  std::vector<Drift> drift{};
  BusySibling siblings{};
  std::vector<BesideOthers> beside{};
  std::vector<std::pair<std::string, std::string>> errors{};  // title of a series, and why it stopped
};

struct Overview {
  TraceRoot run{};
  Provenance provenance{};
  double seconds = not_measured;  // that the run took; visits alone where their beginnings are not known
  std::size_t series = 0;
  std::vector<DeviceOverview> gpus{};  // all devices but the host, simulated ones too
  std::optional<DeviceOverview> host{};
  std::vector<Difference> differences{};  // between GPUs of one model
  std::vector<HealthFinding> health{};
  Quality quality{};
  std::vector<std::string> missing{};  // not measured: a sentence each, of the plan and of what a device lacks
};

Overview overview_of(const Trace&);
// Of its findings. Not judged, as by `npgpu check --trace`: what is well so far in a run that did not reach its end,
// and a host alone, of which no limits are known.
CheckVerdict verdict_of(const Overview&);

}  // namespace npgpu
