// Whether a node is as it should be, judged from a trace: by what its devices could do at most, never by what they have
// degraded to. What cannot be read is skipped, and the reason is said.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npgpu/names.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

enum class Health { pass, warn, fail, skip };
template <> inline constexpr std::array<std::string_view, 4> names_of<Health>{"pass", "warn", "fail", "skip"};

// What a check of a node comes to.
enum class CheckVerdict {
  ok,             // everything that was judged passes; there may be warnings
  slow,           // something is below its limit
  broken,         // wrong results, errors counted, parts missing, or not what was expected
  failed_to_run,  // something that was to be measured has no figure
  skipped,        // nothing could be judged: no such device, or others used it
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<CheckVerdict>{"ok", "slow", "broken", "failed to run",
                                                                        "skipped"};

struct Explanation {
  std::string cause;     // for machines: link_lanes, throttle_thermal, neighbour, ...
  std::string what;      // the likely cause
  std::string evidence;  // what was read
  std::string remedy;    // what would mend it
};

struct HealthFinding {
  std::string device;  // "cuda:0"; "host"; empty: the node
  std::string metric;  // for machines, stable: pcie_link, sms, h2d_rate, sm_clock, ecc_uncorrected, ...
  Health health = Health::skip;
  double value = not_measured, limit = not_measured;  // in `unit`; NaN where there is none
  std::string unit{};
  std::string text{};  // for people, one line without the verdict: "PCIe Gen5 x16 (its maximum)"
  std::string
      basis{};  // what decided: "PCIe Gen5 x16: 63.0 GB/s * 0.82", "reference node7.h5"; empty where it is plain
  std::vector<Explanation> explanations{};      // most likely first; only where it warns or fails
  CheckVerdict if_failed = CheckVerdict::slow;  // what a check comes to where this fails
};

// A figure of a node that is known to be good.
struct ReferenceFigure {
  std::string metric;
  double value = not_measured;
  std::string unit;
};

struct HealthRules {
  // Where there is a reference, its figures decide, with a tolerance for each kind of measurement.
  std::string reference;  // its name; empty: none
  std::vector<ReferenceFigure> figures{};
  // What the node must have: gpus, name, memory, sms, link, driver; see expectations().
  std::vector<std::pair<std::string, std::string>> expected{};
  // Metrics that every GPU must have: one that is skipped or not there fails.
  std::vector<std::string> required{};
};

// Findings of the node, of each device of the trace in its order, then of the host.
std::vector<HealthFinding> health_of(const Trace&, const HealthRules& = {});

// The worst of them: fail, warn, pass; skip where nothing was judged.
Health worst_of(const std::vector<HealthFinding>&);
CheckVerdict verdict_of(const std::vector<HealthFinding>&);
// Rates and times that other nodes can be held against; of several devices the median.
std::vector<ReferenceFigure> figures_of(const std::vector<HealthFinding>&);
// "gpus=8,link=gen5x16,driver=580" as pairs. Throws Error(usage) for a word that is not known, or a value that it
// cannot have.
std::vector<std::pair<std::string, std::string>> expectations(const std::string& list);

}  // namespace npgpu
