// Many traces compared with each other: which GPUs of a fleet are not like the others of their kind, and why.
//
// Example:
//   const std::vector<npgpu::FleetRun> runs{npgpu::fleet_run(npgpu::read_trace("node.h5")),
//                                           npgpu::fleet_run(npgpu::read_trace("later.h5"))};
//   npgpu::fleet_text(std::cout, npgpu::judge_fleet(runs), false, {.width = 100});
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/model/compare.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

// ---- what is kept of a trace --------------------------------------------------------------------------------------

// A series of a trace, without names of devices: whether it has any valid time.
struct FleetSeries {
  std::string kind, title;  // K::name; the GPU is called gpu in the title, another one peer
  bool is_measured = false;
  std::string why{};  // why points are not usable, or the series stopped; empty if nothing is wrong
};

// What a key figure says something of, and so what is done about a bad one. Of calls and host copies the host has the
// larger part: its own speed is divided out before a GPU is judged by them.
enum class FigureKind {
  link,          // large copies one way, between host and GPU or two GPUs
  both_ways,     // the same in both directions at once
  memory,        // kernels on sets far beyond the caches, and copies within the GPU
  compute,       // multiply-adds
  matrix,        // products of matrices: near the limit of power
  latency,       // a load from memory
  small_copy,    // timed by the device
  call,          // launches, and small copies timed by the host
  pageable_copy  // large ones, which the host's processor takes part in
};
template <>
inline constexpr std::array<std::string_view, 9> names_of<FigureKind>{
    "link", "both-ways", "memory", "compute", "matrix", "latency", "small-copy", "call", "pageable-copy"};
constexpr bool is_of_host(FigureKind kind) { return kind == FigureKind::call || kind == FigureKind::pageable_copy; }

// A number that an administrator acts on.
struct FleetFigure {
  FigureKind kind = FigureKind::link;
  std::string name{}, at{};  // "copy, host to device", "64 MiB .. 192 MiB": figures at other points are other figures
  FigureUnit unit = FigureUnit::us;
  double value = not_measured;                     // in the unit
  double low = not_measured, high = not_measured;  // its 95 % interval, from the trace's own rounds
  bool disturbed = false;                          // by others, at more than half of its points
};

// Facts that may explain a difference.
enum class FleetFact {
  sm_clock_mhz,  // median under load
  memory_clock_mhz,
  multiprocessors,  // that ran
  pcie_generation,  // while copying
  pcie_lanes,
  throttled,      // share of visits in which the GPU held its clocks back
  temperature_c,  // the highest
  power_w,        // the highest
};
template <>
inline constexpr std::array<std::string_view, 8> names_of<FleetFact>{
    "sm_clock_mhz", "memory_clock_mhz", "multiprocessors", "pcie_generation",
    "pcie_lanes",   "throttled",        "temperature_c",   "power_w"};
using FleetFacts = std::array<double, names_of<FleetFact>.size()>;  // by fact; NaN where it is not known
inline double fact_of(const FleetFacts& facts, FleetFact which) { return facts[static_cast<std::size_t>(which)]; }

// What is wrong with a GPU whatever others do: wrong results, errors counted, multiprocessors missing.
struct FleetDefect {
  std::string metric, text, remedy;  // of HealthFinding
  std::string cause{}, what{};       // of its likeliest Explanation; empty where it has none
};

// How GPU and host are set: "iommu_domain", "DMA".
struct FleetSetting {
  std::string name, value;
};

// One GPU in one trace.
struct FleetGpu {
  std::string id, name, uuid;  // cuda:0
  std::string bus{};           // its PCI address; empty where the trace does not say
  bool simulated = false;
  std::string driver, link;    // "580.159", "PCIe Gen5 x16": the most that GPU and slot can have together
  bool is_under_load = false;  // the trace has a soak or windows of energy: clocks and heat are those of full power
  FleetFacts facts{};
  std::string throttle{};  // "throttled in 3 of 60 visits: too hot"; empty if it was not
  std::vector<FleetDefect> defects;
  std::vector<FleetDefect> slow{};   // by what its own link, memory and clocks allow, as npgpu check judges it
  std::vector<FleetDefect> signs{};  // what is no defect by itself: errors corrected, packets sent again
  std::vector<FleetSetting> settings{};
  std::vector<FleetSeries> series{};
  std::vector<FleetFigure> figures{};
  std::vector<KeyFigure> key_figures{};
};

struct FleetRun {
  std::string run_uuid, host, date;  // date: start_time_utc
  std::string plan{};      // what it was to measure, and the build that planned it; empty where it does not say
  std::uint64_t hash = 0;  // of the file's content: finds copies of a trace
  bool complete = false;
  std::vector<FleetDefect> defects{};  // of the node: GPUs that do not answer, bytes that arrive wrong between GPUs
  std::vector<FleetDefect> open{};     // why it is not judged: values that cannot be
  std::vector<FleetGpu> gpus;          // those that have series; copies between several at once are left out
};
FleetRun fleet_run(const Trace&);

// ---- what is found --------------------------------------------------------------------------------------------------

enum class Suspicion {
  broken,   // a defect
  missing,  // its own plan had it, and it has no valid figure
  differs,  // fewer multiprocessors, a lesser link or a lower clock than its group
  slow,     // a key figure is beyond what healthy GPUs of one model differ by
};
template <>
inline constexpr std::array<std::string_view, 4> names_of<Suspicion>{"broken", "missing", "differs", "slow"};

// A key figure, over the GPUs of a group.
struct FleetItem {
  FigureKind figure = FigureKind::link;
  std::string title{}, at{};  // the figure's name, and "64 MiB .. 192 MiB"
  FigureUnit unit = FigureUnit::us;
  double tolerance = 0;                  // share of the time beyond which a GPU is a suspect
  double host_tolerance = not_measured;  // of figures of the host: beyond which a host is slow by itself
  std::size_t gpus = 0;                  // that have a value
  bool judged = false;                   // enough have it
  double median = not_measured;          // over them, in the unit
  double sigma = not_measured;           // scatter of their logarithms, or of the slower ones' where that is wider
};

// One GPU's value of one item. NaN where it has none.
struct FleetValue {
  double value = not_measured;  // in the item's unit
  double share = not_measured;  // how much more time it takes than the group's median; negative: less
  double z = not_measured;      // the same in units of the scatter that is expected of healthy GPUs
  double low = not_measured;    // the same at the near end of its interval; NaN where it has none
  double host = not_measured;   // of figures of the host: how much more time its host takes than others; not in `share`
  bool disturbed = false;       // others had a part in more than half of it: it is not judged
};

struct FleetMember {
  std::string uuid, host, id;  // of its last trace
  std::string date;            // of that
  std::size_t traces = 0;
  std::string bus{};  // as in FleetGpu
  FleetFacts facts{};
  std::vector<FleetValue> values{};      // one for each item
  std::vector<KeyFigure> key_figures{};  // of its last trace
};

struct FleetFinding {
  Suspicion suspicion = Suspicion::slow;
  FigureKind kind = FigureKind::link;  // of what is slow
  std::string what{}, at{};            // "copy, host to device", "64 MiB .. 192 MiB"
  std::string text{};                  // "27.90 GB/s (others: 55.40 GB/s)"
  bool confirmed = false;  // all of its interval is beyond the limit, nobody disturbed it, its kind is one of those
                           // that a GPU is taken out of service for, and fewer than half of the group are so
  // The rate or time of what is slow, in the item's unit; others: their median.
  double value = not_measured, others = not_measured;
  double share = not_measured, low = not_measured, z = not_measured;  // as in FleetValue
};
struct FleetCause {
  std::string cause, text;  // for machines: link, multiprocessors, throttled, clock, ...; for people, with the remedy
};
struct FleetSuspect {
  std::size_t member = 0;              // of the group's
  std::vector<FleetFinding> findings;  // the gravest first
  std::vector<FleetCause> causes;      // the likeliest first; never empty

  // Something of it is broken or slow beyond doubt: its node is to be excluded. All else is to be looked at.
  bool confirmed() const;
  // What npgpu check calls it: broken, slow, failed to run; undecided where what it is compared with does not settle
  // it.
  CheckVerdict verdict() const;
};

// A host that slows the calls, or the copies of pageable memory, of all of its GPUs: no fault of a GPU.
struct FleetHost {
  std::string host;
  std::size_t gpus = 0;
  std::vector<FleetFinding> findings;
};

// A node of which something is broken, or not judged, that is no fault of one GPU that was measured.
struct FleetBrokenHost {
  std::string host;
  FleetDefect defect;
};

struct FleetGroup {
  std::string model, driver, link;
  bool simulated = false;
  std::vector<FleetMember> members;  // by host, device and UUID
  std::vector<FleetItem> items;
  std::vector<FleetSuspect> suspects;  // by host, device and UUID
  std::vector<FleetHost> hosts{};      // that are slow themselves, by name
  std::vector<std::string> notes{};    // why it is not judged, what else differs: a sentence each
  bool judged = false;                 // by its medians
  // GPUs that are like the others, and of which a rate of a link, memory or computing is slow by their own limits.
  std::size_t slow_alone = 0;

  bool is_in_doubt() const;  // half or more are: what is usual in it may be slow
};

struct FleetFile {
  std::string path, why;
};
struct Fleet {
  std::size_t files = 0;  // that were named
  std::vector<FleetFile> unreadable{};
  std::size_t duplicates = 0, without_gpu = 0,
              incomplete = 0;  // copies of a trace; traces without a GPU's series; cut short
  std::size_t hosts = 0;
  std::string first_date{}, last_date{};
  std::vector<FleetGroup> groups{};  // the largest first

  // By name, each metric once, of the last trace that has it.
  std::vector<FleetBrokenHost> broken_hosts{}, unjudged_hosts{};
  std::vector<std::string> notes{};      // GPUs that are on several hosts, hosts that share a name: a sentence each
  std::set<std::string> shared_names{};  // of hosts that are several machines

  std::size_t gpus() const;
  std::size_t suspects() const;
  std::size_t confirmed() const;   // of the suspects
  std::size_t slow_hosts() const;  // each once
  std::size_t in_doubt() const;    // GPUs that are slow by their own limits, of groups that are in doubt
  // Broken hosts, and those of confirmed suspects, whose name is that of one machine, each once, in order.
  std::vector<std::string> excluded_hosts() const;
};

// ---- judging --------------------------------------------------------------------------------------------------------

struct FleetRules {
  double chance = 0.01;               // that a group of healthy GPUs has a suspect
  std::optional<double> tolerance{};  // the least share that counts, of all kinds; else 2 % and more, by kind
  std::size_t least_gpus = 5;         // of a group that is judged, and of those that have an item
};
// A pure function of what the traces hold, whatever their order.
Fleet judge_fleet(const std::vector<FleetRun>&, const FleetRules& = {});

// ---- reports --------------------------------------------------------------------------------------------------------

// "20 suspects of 10000 GPUs", "no suspect among 8 GPUs"
std::string verdict_text(const Fleet&);
// "--exclude=node3,node7" for Slurm; empty where nothing is confirmed.
std::string exclude_text(const Fleet&);
// Groups, suspects with findings and causes, what could not be read. `all`: also every item of every group.
void fleet_text(std::ostream&, const Fleet&, bool all, const TextStyle&);
// A row for each GPU and item.
void fleet_csv(std::ostream&, const Fleet&);
void fleet_json(std::ostream&, const Fleet&);
void fleet_openmetrics(std::ostream&, const Fleet&);
// One page that needs nothing but a browser.
void fleet_html(std::ostream&, const Fleet&);

}  // namespace npgpu
