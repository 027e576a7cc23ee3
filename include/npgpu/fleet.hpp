// Many traces held against each other: which GPUs of a fleet are not like the others of their kind, and why.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/compare.hpp"
#include "npgpu/report.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

// ---- what is kept of a trace --------------------------------------------------------------------------------------

// A case and the points that it was measured at, without names of devices: those of thousands of traces are equal.
struct FleetQuestion {
  std::string kind;   // K::name
  std::string title;  // the GPU is called gpu in it, another one peer
  std::uint32_t lane = 0;
  TimeClass time_class = TimeClass::device_copies;
  std::vector<std::string> axes;  // text_of(axes) of each point, in their order
  std::vector<double> sizes;      // bytes of each, or 0

  auto operator<=>(const FleetQuestion&) const = default;
};

// Its answer: a value for each point, as estimates() has them.
struct FleetCurve {
  std::shared_ptr<const FleetQuestion> question;
  std::vector<double> us;       // of one operation; NaN where it is not usable
  std::vector<double> spread;   // half the width of its 95 % interval, as a share; NaN where there is none
  std::uint32_t disturbed = 0;  // points that rest on visits in which others had a part
  std::string why{};            // why points are not usable, or the series stopped; empty if nothing is wrong
};

// A key figure, as compare() has it.
struct FleetFigure {
  std::string name{}, at{};  // "copy, host to device", "64 MiB .. 192 MiB"
  FigureUnit unit = FigureUnit::us;
  TimeClass time_class = TimeClass::device_copies;
  Third third = Third::all;
  double value = not_measured;  // in the unit
  bool disturbed = false;       // by others, at more than half of its points
  std::size_t curve = 0;        // that it is taken from, of the GPU's: figures of other points are other figures

  auto operator<=>(const FleetFigure&) const = default;
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
};

// One GPU in one trace.
struct FleetGpu {
  std::string id, name, uuid;  // cuda:0
  bool simulated = false;
  std::string driver, link;  // "580.159", "PCIe Gen5 x16": the most that GPU and slot can have together
  FleetFacts facts{};
  std::string throttle{};  // "throttled in 3 of 60 visits: too hot"; empty if it was not
  std::vector<FleetDefect> defects;
  std::vector<FleetCurve> curves;
  std::vector<FleetFigure> figures;
};

struct FleetRun {
  std::string run_uuid, host, date;  // date: start_time_utc
  std::uint64_t hash = 0;            // of the file's content: tells copies of a trace
  bool complete = false;
  std::vector<FleetGpu> gpus;  // those that have series; copies between several at once are left out
};
FleetRun fleet_run(const Trace&);

// ---- what is found --------------------------------------------------------------------------------------------------

enum class Suspicion {
  broken,   // a defect
  missing,  // others of its group have a figure, it has none
  differs,  // fewer multiprocessors, or a lesser link, than nine tenths of its group
  slow,     // beyond the tolerance, and by many times what its group scatters
  noisy,    // its own times scatter so
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Suspicion>{"broken", "missing", "differs", "slow", "noisy"};

// What the GPUs of a group are held against: a key figure, a third of a case's curve, or the scatter of a class.
enum class FleetMeasure { figure, curve, scatter };
template <> inline constexpr std::array<std::string_view, 3> names_of<FleetMeasure>{"figure", "curve", "scatter"};
struct FleetItem {
  using Of = FleetMeasure;
  Of of = Of::figure;
  std::string kind{}, title{};  // title: of the case, the figure's name, or the class
  std::uint32_t lane = 0;
  Third third = Third::all;
  std::string at{};                 // "64 MiB .. 192 MiB"
  std::size_t first = 0, last = 0;  // of a curve: points of its FleetCase
  TimeClass time_class = TimeClass::device_copies;
  FigureUnit unit = FigureUnit::us;  // of a figure; curves are in us, scatter is a share
  double tolerance = 0;              // share of a time, or of times as much scatter
  std::size_t gpus = 0;              // that have a value
  bool judged = false;               // enough have it, or a reference does
  double median = not_measured;      // over them, in the unit
  double sigma = not_measured;       // scatter of their logarithms: 1.4826 times the median absolute deviation
  double reference = not_measured;   // median of the reference that the group is held against
};

// One GPU's value of one item. NaN where it has none.
struct FleetValue {
  double value = not_measured;  // in the item's unit
  double share = not_measured;  // how much more time it takes than the group's median; negative: less
  double z = not_measured;      // the same in units of the group's scatter, which counts as a fifth of the tolerance at
                                // least
  bool disturbed = false;       // others had a part in more than half of it: it is not judged
};

// A case, point by point, over a group.
struct FleetCase {
  FleetQuestion question;
  std::vector<double> us, low_us, high_us;  // median of the GPUs, and between which 95 % of them are
  std::vector<std::size_t> gpus;            // that have the point
};

struct FleetMember {
  std::string uuid, host, id;  // of its last trace
  std::string date;            // of that
  std::size_t traces = 0;
  FleetFacts facts{};
  std::vector<FleetValue> values{};  // one for each item
};

struct FleetFinding {
  Suspicion suspicion = Suspicion::slow;
  FleetMeasure of = FleetMeasure::figure;
  std::string what{}, at{};  // "copy, host to device", "64 MiB .. 192 MiB"
  std::string text{};        // "27.90 GB/s, and others have 55.40 GB/s"
  // Of what is slow or noisy, in the item's unit; others: their median.
  double value = not_measured, others = not_measured;
  double share = not_measured, z = not_measured;  // as in FleetValue
};
struct FleetCause {
  std::string cause, text;  // for machines: link, multiprocessors, throttled, clock, ...; for people
};
struct FleetSuspect {
  std::size_t member = 0;                 // of the group's
  std::vector<FleetFinding> findings;     // the gravest first
  std::vector<FleetCause> causes;         // the likeliest first; never empty
  std::vector<std::vector<double>> us{};  // by case and point, as FleetCase has them
};

// What a group's median has become since the reference.
struct FleetDrift {
  std::string what{}, at{};
  double before = not_measured, now = not_measured;  // in the unit
  FigureUnit unit = FigureUnit::us;
  double change = not_measured;  // of the time: positive is slower
  double tolerance = 0;
  bool slower() const { return change > tolerance; }
};

struct FleetGroup {
  std::string model, driver, link;
  bool simulated = false;
  std::vector<FleetMember> members;  // by host, device and UUID
  std::vector<FleetItem> items;
  std::vector<FleetCase> cases;
  std::vector<FleetSuspect> suspects;  // by host, device and UUID
  std::vector<std::string> notes{};    // why it is not judged, what else differs: a sentence each
  bool judged = false;                 // by medians of its own, or those of the reference
  bool judged_by_reference = false;    // it is too small
  std::string reference_date{};        // of the baseline that drifts are since, or that it is judged by
  std::vector<FleetDrift> drifts{};    // beyond the tolerance, the slowest first
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

  std::size_t gpus() const;
  std::size_t suspects() const;
  bool has_slower_group() const;  // than the reference
  // Hosts of all suspects, each once, in order.
  std::vector<std::string> suspect_hosts() const;
};

// ---- baselines ------------------------------------------------------------------------------------------------------

// The medians of a fleet at one time, to be held against later ones.
struct FleetBaseline {
  struct Group {
    std::string model, driver, link;
    std::size_t gpus = 0;
    std::vector<FleetItem> items;
    std::vector<FleetCase> cases;
  };
  std::string date;  // of the fleet's last trace
  std::vector<Group> groups;
};
FleetBaseline baseline_of(const Fleet&);

struct FleetRules {
  double z = 5;                       // the least that is flagged
  std::optional<double> tolerance{};  // for all classes; else 2 % or what compare() takes for the class
  std::size_t least_gpus = 5;         // of a group that is judged by its own medians, and of those that have an item
  const FleetBaseline* reference = nullptr;
};
// A pure function of what the traces hold, whatever their order.
Fleet judge_fleet(const std::vector<FleetRun>&, const FleetRules& = {});

// ---- reports --------------------------------------------------------------------------------------------------------

// "--exclude=node3,node7" for Slurm; empty without suspects.
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
