// A job, and what streams cost on a measured device, as predict and simulate are asked.
#pragma once

#include <optional>
#include <string>

#include "netpipe/cli/options.hpp"
#include "npgpu/model/predict.hpp"

namespace npgpu::cli {

// --bytes-in, --kernel-ms, --bytes-out and --blocks; 0 where not given.
Job parse_job(const Options&);
// What streams cost on that device, or on the trace's only one. Throws Error(usage) naming the trace and what it lacks.
MeasuredCosts costs_of_trace(const Trace&, const std::string& path, const std::optional<std::string>& device);

}  // namespace npgpu::cli
