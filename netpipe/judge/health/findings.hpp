// What the judges of a device's health share: the shares of hardware limits that healthy devices reach, findings as
// they come, how a figure is judged, and the judges themselves.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "netpipe/judge/health/record.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/result.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::model {

// The name of an Xid, NVIDIA's numbers for errors of a GPU: "GPU has fallen off the bus" of 79; empty for a number that
// is not used or not known.
std::string_view xid_name(unsigned xid);

// Which share of what the hardware could do at most a healthy device reaches. The shares were measured on H200s (three
// traces in data/traces, two with PCIe Gen5 x16 in virtual machines); each floor leaves the margin that stands beside
// it.

// Pinned copies timed by the device, from 16 MiB: 86.7 to 88.0 % of the link, both ways. Floor: 6 % below that. Links
// before Gen5 were not measured; packets of 128 B reach 83 % at most, and their floor leaves 13 % more.
inline constexpr double least_share_of_link = 0.82, least_share_of_old_link = 0.72;
// NVLink-C2C was not measured here: reports of GH200s have 375 to 420 GB/s to the GPU and 290 to 300 from it, of 447
// one way. Floor: 10 % below the less.
inline constexpr double least_share_of_c2c = 0.58;
// One direction while the other copies too, over the floor of copies alone: 51.5 GB/s. H100s and H200s reach 34 to 52
// (12 traces of data/traces). Floor: 17 % below the least.
inline constexpr double least_share_both_ways = 0.55;
// What a copy takes beyond its bytes: 1.7 to 2.6 us up to 4 KiB. So 1 MiB reaches 77 to 80 % of the link, and the floor
// there, with this time, is 66 %.
inline constexpr Seconds most_copy_overhead{4.5e-6};
inline constexpr std::uint64_t large_copy = 16 * MiB, middle_copy = MiB, small_copy = 4 * KiB;

// Copies within the device, from twice the L2 cache: 83.3 to 86.1 % of clock * width (each byte is read and written).
inline constexpr double least_share_of_d2d = 0.77;

// Copies of 64 MiB to another GPU: 0.85 to 0.88 of 18 NVLinks. Without NVLink they were not measured.
inline constexpr double least_share_of_peers = 0.7;

// Kernels over memory of at least four times the L2 cache: reads 95.7 to 96.8, writes 97.2 to 97.5, mixed traffic 88.2
// to 91.5 % of clock * width. Floors: 8 to 12 % below.
// A memory that the host's processor uses, too: a GB10 was reported to read at 83 % of clock * width. Floor: 10 %
// below.
inline constexpr double least_share_of_one_memory = 0.75;
constexpr double least_share_of_memory(Operation operation) {
  return operation == Operation::read || operation == Operation::write ? 0.86 : 0.80;
}

// Multiply-adds in registers: 98.1 to 99.3 % of lanes * clock. Floor: 5 % below.
inline constexpr double least_share_of_compute = 0.93;
// Products of tensor cores by warp groups: 87.7 to 91.9 % of the peak at the run's clock, and of fp64 at least 98.4 %.
// Floor: 9 % below.
inline constexpr double least_share_of_tensor = 0.8;

// Calls, in us, on the hosts of these machines: launches in a row 3.3 to 3.8, until a launch alone is done 8.3 to 9.0,
// blocking copies of 8 B 5.6 to 6.5. A busy sibling hyperthread makes them 1.3 to 1.5 times as long. Nothing of the
// device says what they should take: the limits are 1.6 times the figures in the middle.
inline constexpr double most_launch_us = 6, most_launch_done_us = 14, most_small_copy_us = 10;

// Pageable copies go through the host's memory and processor: 8.3 to 20 GB/s, and the largest reach 52 to 100 % of the
// best. Below this share of the best the fall is said.
inline constexpr double least_share_of_pageable = 0.5;
// The size by which they are compared with healthy ones: beyond it they go on falling on some hosts.
inline constexpr std::uint64_t compared_pageable = 64 * MiB;
// The sets of L2 by whose reads it is judged: up to here a partition that is half of it keeps copies of all.
inline constexpr double most_of_cache = 0.55;
// And from so many L2s on the sets by whose loads memory's latency is: L2 answers a fifth of them at most.
inline constexpr double beyond_l2 = 5;

// The reason for a lower clock that is no fault: the device is held at its power limit (NVML's bit).
constexpr std::uint64_t power_cap = 0x4;
// Held at its power limit a GPU draws at least this share of it, also where readings lag behind short kernels.
constexpr double least_share_of_power_limit = 0.8;
// An SM clock is at its maximum from this share on: a GPU at work is expected there, but for a step or two of boost.
constexpr double is_its_maximum = 0.97;

inline HealthFinding finding_of(std::string device, std::string metric, Health health, std::string text) {
  return {.device = std::move(device), .metric = std::move(metric), .health = health, .text = std::move(text)};
}
inline HealthFinding& with_value(HealthFinding& finding, double value, double limit, std::string unit) {
  finding.value = value;
  finding.limit = limit;
  finding.unit = std::move(unit);
  return finding;
}
inline HealthFinding& with_value(HealthFinding& finding, const Estimate& is, double limit, std::string unit) {
  finding.low = is.low;
  finding.high = is.high;
  return with_value(finding, is.value, limit, std::move(unit));
}

// The findings of one device, as they come.
class Findings {
 public:
  Findings(const DeviceRecord& record, const HealthRules& its_rules) : device(record), rules(its_rules) {}

  HealthFinding& add(std::string metric, Health health, std::string text) {
    return all.emplace_back(finding_of(device.id, std::move(metric), health, std::move(text)));
  }
  HealthFinding& pass(std::string metric, std::string text) { return add(std::move(metric), Health::pass, text); }
  void skip(std::string metric, std::string why) { add(std::move(metric), Health::skip, std::move(why)); }
  // A defect: where it fails, the node is broken, and not only slow.
  HealthFinding& defect(std::string metric, Health health, std::string text) {
    HealthFinding& finding = add(std::move(metric), health, std::move(text));
    finding.if_failed = CheckVerdict::broken;
    return finding;
  }
  // Null if there is none.
  const HealthFinding* find(std::string_view metric) const {
    for (const HealthFinding& finding : all)
      if (finding.metric == metric) return &finding;
    return nullptr;
  }
  bool is_bad(std::string_view metric) const {
    const HealthFinding* const finding = find(metric);
    return finding && (finding->health == Health::warn || finding->health == Health::fail);
  }

  const DeviceRecord& device;
  const HealthRules& rules;
  bool has_siblings_on_switch = false;  // others of its model in this node reach NVSwitches
  bool is_short_of_power = false;       // NVML's reason is the power limit, and the power stays far below it
  std::string throttled_since{};        // of a soak: "too hot after 4 min 2 s"
  std::vector<HealthFinding> all;
  // Figures below their limit, and who disturbed the points that they rest on.
  struct Disturbed {
    std::string metric, by;
  };
  std::vector<Disturbed> disturbed;
  std::set<std::string> beside_others{};  // metrics of points that others disturbed, whatever their limit
};

// "memory_rate" of "memory_read_rate", "compute_rate" of "compute_fp32_rate"; of others the metric itself.
std::string metric_kind(const std::string& metric);

// Four digits: "55.33 GB/s", "3.750 us". What is no number is "-".
std::string figure_text(double value, const std::string& unit);

// The figure of a good GPU that a metric is compared with: that of the user's reference, of a simulated one's spec, or
// of healthy GPUs of its model.
struct Referred {
  std::optional<ReferenceFigure> figure{};
  std::string of{};       // "reference node7.h5", "a healthy one by its spec", "7 healthy H200s"
  bool is_model = false;  // of other GPUs, in whatever slots
};
Referred reference_for(const Findings&, std::string_view metric);
// Such a figure decides it, or the user's own limit.
bool is_known_of_healthy(const Findings&, const std::string& metric);

// A figure of a point, and what it rests on.
struct Evidence {
  Estimate estimate{};
  std::string disturbed{};  // by whom else
  std::string of_case{}, of_point{};
  std::vector<double> by_visit{};  // the same figure, visit by visit of those that count
};

// A figure against the limit that follows from the device, or against a reference's.
struct JudgedFigure {
  std::string metric;
  std::string name;  // "H2D pinned, 64 MiB"
  Evidence seen;
  std::string unit;
  double limit = not_measured;     // NaN: unknown
  std::string basis;               // where that comes from; why it is unknown
  double possible = not_measured;  // the most that link, memory or clock allow, where the limit is a share of it
  bool is_needed = true;           // a check that cannot judge it is not ok
  // Points of the same case of which one would be judged if `seen` were another. They are measured again together.
  std::vector<std::string> other_points{};

  // The limit of a time is what calls of CUDA usually take; other APIs' are not judged by it.
  bool is_time() const { return unit == "us"; }
  Allowed allowed() const { return is_time() ? Allowed::at_most : Allowed::at_least; }
};
// The finding of model::rule(); one that is not within its limit and was disturbed is not judged.
HealthFinding& judge(Findings&, const JudgedFigure&);

// Who else had a part in what a point's figures rest on; empty if nobody.
template <class K> std::string others_of(const Point<K>& point) {
  return disturbance_text(point.disturbed() & ~own_causes, disturbers_of(point));
}

// A figure of a point that is proportional to its time, or to one over it.
template <class K>
Evidence evidence_of(const Series<K>& series, const Result<K>& result, Estimate figure, bool is_rate) {
  const Point<K> point = points_by_axes(series).at(result.axes);
  Evidence of{std::move(figure), others_of(point), title(series.question), text_of(result.axes), {}};
  of.by_visit = by_visit(series, point, of.estimate.value, is_rate, result.lane);
  return of;
}
template <class K> Evidence time_of(const Series<K>& series, const Result<K>& result) {
  return evidence_of(series, result, result.time_us, false);
}
template <class K> Evidence rate_of(const Series<K>& series, const Result<K>& result) {
  return evidence_of(series, result, result.rate, true);
}

// The judges, in the order of the report.
void judge_runs(Findings&);      // the device itself, results, disturbed points, unsteady points
void judge_link(Findings&);      // what the PCIe link is trained to
void judge_clocks(Findings&);    // SMs, clocks, throttling, power, temperature
void judge_copies(Findings&);    // rates and times of copies
void judge_kernels(Findings&);   // memory bandwidth and computing power
void judge_calls(Findings&);     // what calls cost
void judge_counters(Findings&);  // ECC, rows, pages, replays, NVLink
void judge_xids(Findings&);      // errors that the driver reported
// What was measured and counted of a GPU: all of these but the first. check and fleet judge it alike.
void judge_gpu(Findings&, const std::vector<SoakDevice>&);
void judge_settings(Findings&);  // MIG, MPS, persistence, IOMMU, ACS, NUMA, huge pages
void judge_expected(Findings&);  // what the user expects of each GPU
// "too hot after 4 min 2 s"; empty of a device that was not soaked, or not throttled then.
std::string throttled_since_text(const std::vector<SoakDevice>&, const std::string& device);

// Rates that fell while they ran, and wrong words of memory. What else a soak shows (wrong results, lost devices,
// counters, throttling) is judged with all other measurements.
void judge_soak(Findings&, const std::vector<SoakDevice>&);
// Findings of devices that are hotter or slower than the others.
std::vector<HealthFinding> soak_neighbours(const std::vector<SoakDevice>&);
// By MIG: what is known of its model is of the whole.
bool is_part_of_gpu(const DeviceRecord&);
// The GPU's memory is the host's, as of GB10 and Jetson: copies between them go over no link.
bool has_one_memory(const DeviceRecord&);
// Copies between host and GPU go over NVLink-C2C, and not over PCIe.
bool is_reached_over_c2c(const DeviceRecord&);
// What the GPU's PCIe port was trained to, as NVML read it; NaN: not read.
struct LinkRead {
  double generation = not_measured, lanes = not_measured;
  bool is_copying = false;  // read while copies ran, and not before the run
  bool is_void = false;     // copies were faster than it carries, so that the reading cannot be
};
LinkRead trained_link(const DeviceRecord&);
// What each lane transfers in a second (PCI Express Base Specification); NaN: a generation that is not known.
double pcie_transfers_per_s(double generation);
// False also where they were faster than any that the PCIe link could carry.
bool copies_go_over_pcie(const DeviceRecord&);
// What GPU and slot can carry together in one direction, in bytes a second.
double best_pcie_rate(const DeviceRecord&);
// The lanes that every GPU of its model has; NaN where that is not known.
double usual_lanes(const DeviceRecord&);
// The slot has an older generation or fewer lanes than the GPU.
bool is_lesser_slot(const DeviceRecord&);
// The node's GPUs that the bus shows and that do not answer. Nothing where the trace does not say.
std::optional<HealthFinding> judge_census(const Trace&);
// What says that the device stopped answering; nothing if nothing does.
std::optional<std::string> loss_of(const DeviceRecord&);
// Below each that warns or fails: why, most likely first.
void explain(Findings&);

}  // namespace npgpu::model
