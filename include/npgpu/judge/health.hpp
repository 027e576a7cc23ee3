// Whether a node is as it should be, judged from a trace: by what its devices could do at most, never by what they have
// degraded to. What cannot be read is skipped, and the reason is said.
//
// Example:
//   const auto findings = npgpu::health_of(npgpu::read_trace("node.h5"));
//   for (const npgpu::HealthFinding& one : findings)
//     if (one.health == npgpu::Health::fail) std::cout << one.device << ' ' << one.metric << ": " << one.text << '\n';
//   std::cout << npgpu::name(npgpu::verdict_of(findings)) << '\n';
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npgpu/vocabulary/field.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu {

enum class Health {
  pass,
  warn,
  fail,
  skip,       // there is nothing to judge
  undecided,  // measured, and its interval holds the limit
  unjudged,   // measured, and its limit is not known or cannot be believed, or others disturbed it
};
template <>
inline constexpr std::array<std::string_view, 6> names_of<Health>{"pass", "warn",      "fail",
                                                                  "skip", "undecided", "not judged"};

// What a check of a node comes to.
enum class CheckVerdict {
  ok,             // everything that matters was judged, and passes; there may be warnings
  slow,           // something is beyond its limit with its whole interval
  broken,         // wrong results, errors counted, parts missing or lost, or not what was expected
  failed_to_run,  // something that was to be measured has no figure
  undecided,      // the limit lies inside a confidence interval, and measuring again did not settle that
  not_judged,     // a figure has no limit to be compared with, others disturbed it, or there is no GPU
};
template <>
inline constexpr std::array<std::string_view, 6> names_of<CheckVerdict>{
    "ok", "slow", "broken", "failed to run", "undecided", "not judged"};

struct Explanation {
  std::string cause;        // for machines: link_lanes, throttle_thermal, neighbour, ...
  std::string what;         // the likely cause
  std::string evidence;     // what was read
  std::string remedy;       // what would mend it
  bool is_of_rest = false;  // of what the other causes leave over
};

struct HealthFinding {
  std::string device;  // "cuda:0"; "host"; empty: the node
  std::string metric;  // for machines, stable: pcie_link, sms, h2d_rate, sm_clock, ecc_uncorrected, ...
  Health health = Health::skip;
  double value = not_measured, limit = not_measured;  // in `unit`; NaN where there is none
  std::string unit{};
  std::string text{};  // for people, one line without the verdict: "PCIe Gen5 x16 (its maximum)"
  std::string
      basis{};  // what decided: "82 % of 63.00 GB/s, PCIe Gen5 x16", "reference node7.h5"; empty where it is plain
  std::vector<Explanation> explanations{};         // most likely first; only where it warns or fails
  CheckVerdict if_failed = CheckVerdict::slow;     // what a check comes to where this fails
  double low = not_measured, high = not_measured;  // 95 % interval of `value`; NaN where there is none
  // The smallest slow-down of a healthy device that would have been called slow, as a share: 0.06. Where it is not
  // known what healthy ones reach, of this one. NaN where nothing was compared with a limit.
  double would_see = not_measured;
  std::string of_case{}, of_point{};  // the series and point that `value` is of, as titles have them; empty: of neither
  // Series and points of other figures of the same finding.
  std::vector<std::pair<std::string, std::string>> more_points{};
};

// A figure of a node that is known to be good.
struct ReferenceFigure {
  std::string metric;
  double value = not_measured;
  std::string unit;
  double tolerance = not_measured;  // share of it; NaN: that of the metric
  bool depends_on_host = false;     // and is compared on hosts with the same processors only
};

struct HealthRules {
  // Where there is a reference, its figures decide, with a tolerance for each kind of measurement.
  std::string reference;  // its name; empty: none
  std::vector<ReferenceFigure> figures{};
  // Elsewhere what healthy GPUs of the model reached decides, where that ships with the program, then what the device
  // could do at most.
  bool by_model = true;
  // What the node must have: gpus, name, memory, sms, link, driver, and limits of figures by their metric; see
  // expectations().
  std::vector<std::pair<std::string, std::string>> expected{};
  // Metrics that every GPU must have: one that is skipped or not there fails.
  std::vector<std::string> required{};
};

// Findings of the node, of each device of the trace in its order, then of the host.
std::vector<HealthFinding> health_of(const Trace&, const HealthRules& = {});

// The worst of them: fail, undecided, unjudged, warn, pass; skip where there is nothing else.
Health worst_of(const std::vector<HealthFinding>&);
// The worst of several findings of one metric of one device, as of its links to several others; of equals the first.
std::vector<const HealthFinding*> worst_of_each_metric(const std::vector<HealthFinding>&);
// By what GPUs of that name are judged: "27 runs of 7 healthy H200s"; empty where only the device's own limits are
// known.
std::string reference_text(std::string_view gpu_name);
CheckVerdict verdict_of(const std::vector<HealthFinding>&);

// One of the numbers that stand for a GPU. report, check, compare and fleet say the same of a trace: none has another
// definition of it.
struct KeyFigure {
  std::string device, metric;  // of HealthFinding
  double value = not_measured, low = not_measured, high = not_measured;
  std::string unit{};  // "B/s", "FLOP/s", "OP/s", "us"
};
// Rates and times of GPUs in the order of the findings, each metric of a device once; the limits have no part in them.
std::vector<KeyFigure> key_figures(const std::vector<HealthFinding>&);

// Rates and times that other nodes can be compared with; of several devices the median.
std::vector<ReferenceFigure> figures_of(const std::vector<HealthFinding>&);
// "gpus=8,link=gen5x16,h2d=50GB/s" as pairs: gpus 8, link gen5x16, h2d_rate 5e10. Throws Error(usage) for a word that
// is not known, or a value that it cannot have.
std::vector<std::pair<std::string, std::string>> expectations(const std::string& list);

}  // namespace npgpu
