// Causes that several findings may have, each with what was read of it in this trace.
#pragma once

#include <optional>
#include <string>

#include "netpipe/model/health/findings.hpp"

namespace npgpu::model {

// Nothing where nothing in the trace speaks for it.
std::optional<Explanation> neighbour(const Findings&, const std::string& metric);
std::optional<Explanation> lost_device(const Findings&);
std::optional<Explanation> stopped_by_quota(const Findings&, const std::string& metric);
std::optional<Explanation> degraded_link(const Findings&);
std::optional<Explanation> too_hot(const Findings&);
std::optional<Explanation> throttled(const Findings&);
std::optional<Explanation> capped_clock(const Findings&);
std::optional<Explanation> failing_memory(const Findings&);
std::optional<Explanation> lesser_slot(const Findings&);
std::optional<Explanation> wrong_results(const Findings&);
std::optional<Explanation> errors(const Findings&);
std::optional<Explanation> unsteady(const HealthFinding&);

}  // namespace npgpu::model
