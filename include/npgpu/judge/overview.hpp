// What a trace says of a node, on one page, and the part of it that a node can share with strangers. The numbers are
// gathered once, so that the screen, JSON, Markdown and HTML show the same ones, and those are the ones that reports
// and derive show.
//
// Example:
//   const npgpu::Overview all = npgpu::overview_of(npgpu::read_trace("node.h5"));
//   for (const npgpu::DeviceOverview& gpu : all.gpus) std::cout << gpu.id << ' ' << gpu.name << '\n';
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/trace.hpp"

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
  double one_us = not_measured;                 // in one stream
  std::uint32_t enough_chunks = 1, enough = 1;  // what is advised, as by npgpu predict: chunks, streams
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
  std::vector<Figure> energy{};     // W at rest; pJ a byte or operation over idle (npgpu/model/figures.hpp)
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
// The verdict of the overview's findings. Not judged, as by `npgpu check --trace`: what is well so far in a run that
// did not reach its end, and a host alone, of which no limits are known.
CheckVerdict verdict_of(const Overview&);

// What a node can share with strangers: the figures of its GPUs, and nothing that says whose they are. No host, user,
// path, command line, UUID or bus address; of the time the month.
//
// Example:
//   const npgpu::Overview all = npgpu::overview_of(npgpu::read_trace("node.h5"));
//   const npgpu::SharedNode node = npgpu::shared_of(all);
//   npgpu::shared_json(std::cout, node, all);

// A figure that says the same on every node, by the metric that `npgpu check` judges it by.
struct SharedMetric {
  std::string_view metric;  // h2d_rate
  std::string_view name;    // "host to GPU, pinned"
  std::string_view unit;    // B/s, FLOP/s, OP/s, us, MHz
  bool less_is_better() const { return unit == "us"; }
};
std::span<const SharedMetric> shared_metrics();

struct SharedFigure {
  std::string metric;
  double value = not_measured, low = not_measured, high = not_measured;  // in the metric's unit; 95 %
};
struct SharedGpu {
  std::string name;    // "NVIDIA H200"
  std::string link;    // "PCIe Gen5 x16"; empty: not known
  std::string driver;  // version
  std::int64_t multiprocessors = 0, memory_bytes = 0;
  double power_limit_w = not_measured;
  Health health = Health::skip;  // the worst of its findings
  std::vector<SharedFigure> figures{};
};
struct SharedNode {
  std::string tool_version, month;  // "0.2.0", "2026-11"
  std::string host_cpu;             // "AMD EPYC 9654"
  std::int64_t host_cores = 0;
  bool is_virtual = false;
  std::vector<SharedGpu> gpus{};  // measured ones
};

// "PCIe Gen5 x16": the most that device and slot can do, of a device's facts; empty where they do not say.
std::string link_text(const Facts&);

// Throws Error(usage) where the trace has no figure of a GPU that was measured: nobody shares simulations.
SharedNode shared_of(const Overview&);

// The document "npgpu-shared". Throws Error(failed) if a text that names somebody (host, UUID, bus address, run, a word
// of the command's paths) is in it. REQUIRES: shared_of() made the node from the same overview.
void shared_json(std::ostream&, const SharedNode&, const Overview& of);

// A GPU compared with those of its model in other shared nodes: a row for each figure that both have.
struct AmongOthers {
  struct Row {
    SharedMetric metric;
    SharedFigure own;
    std::vector<double> others{};  // a value for each card, from the least to the most

    double typical() const;  // the median of the others
    double change() const { return own.value / typical() - 1; }
    bool is_beyond() const { return own.low > others.back() || own.high < others.front(); }  // all others
    bool is_worse() const { return is_beyond() && (change() < 0) != metric.less_is_better(); }
  };
  std::string gpu, name;  // cuda:0, NVIDIA H200
  std::size_t cards = 0;  // others of its model
  std::vector<Row> rows{};
};
// Each GPU that was measured, among those of its model; nodes without that model are passed over.
std::vector<AmongOthers> among_others(const Overview&, std::span<const SharedNode> others);

}  // namespace npgpu
