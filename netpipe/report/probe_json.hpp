// Probes and what is derived from them, as parts of JSON documents.
#pragma once

#include <vector>

#include "netpipe/report/summary_json.hpp"
#include "npgpu/derive.hpp"

namespace npgpu {

Json json_of(const ProbeCase&);
Json json_of(const Shape&);
// Everything of a probe but its points and samples.
Json header_json(const ProbeSeries&);
// The same with a summary of each point: shape, trials, stop, rate_per_s, rate_per_cycle, clock_mhz, doubts.
Json summary_json(const ProbeSeries&);
Json json_of(const std::vector<DeviceParameters>&);

}  // namespace npgpu
