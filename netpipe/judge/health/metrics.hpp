// What is said of each metric of npgpu check, and causes that several findings may have.
#pragma once

#include <span>
#include <string>

#include "netpipe/judge/health/findings.hpp"

namespace npgpu::model {

// Each cause with what was read of it in this trace; nothing where nothing there speaks for it.
std::optional<Explanation> neighbour(const Findings&, const std::string& metric);
Explanation loss(std::string evidence);
std::optional<Explanation> lost_device(const Findings&);
std::optional<Explanation> stopped_by_quota(const Findings&, const std::string& metric);
std::optional<Explanation> degraded_link(const Findings&);
std::optional<Explanation> too_hot(const Findings&);
std::optional<Explanation> throttled(const Findings&);
std::optional<Explanation> capped_clock(const Findings&);
std::optional<Explanation> repaired_memory(const Findings&);
std::optional<Explanation> failing_memory(const Findings&);
std::optional<Explanation> reported_xids(const Findings&);
std::optional<Explanation> lesser_slot(const Findings&);
std::optional<Explanation> wrong_results(const Findings&);
std::optional<Explanation> errors(const Findings&);
std::optional<Explanation> unsteady(const HealthFinding&);

// Everything that is said of a metric of npgpu check, in one row for each: what it is called where, its tolerance, and
// why it may be bad. A row, and a judge that makes its finding, are all that a new metric takes.

// What may slow it down, of what a trace knows.
enum class SlowedBy { nothing, link, calls, memory, compute };

// Where nothing else in the trace says why it is bad.
struct LastResort {
  const char *cause, *what, *remedy;
};

struct Metric {
  std::string_view name;     // a * stands for a part that varies
  std::string_view brief{};  // where there are about a dozen characters; empty: made of the name
  const LastResort* last{};  // null: it has causes of its own
  std::string_view title{};  // in a shared node; empty: it is not shared
  std::string_view unit{};   // of a figure
  double tolerance = 0;      // against a reference
  SlowedBy by = SlowedBy::nothing;
  std::string_view required{};  // where it is missing; empty: its name
};

std::span<const Metric> metrics();
// Whether this is the name of a GPU's figure, for which --expect can set a limit: "h2d_rate".
bool is_figure_name(std::string_view name);
// The row of "memory_read_rate", or of "memory_*_rate"; null where there is none.
const Metric* metric_row(std::string_view name);
// "host to GPU, pinned", "fp32", "tensor fp16 by wgmma": a figure's name in every report.
std::string title_of(std::string_view metric);

}  // namespace npgpu::model
