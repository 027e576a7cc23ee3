// A prediction of what GPUs do together.
#pragma once

#include "netpipe/cli/options.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

// A line for each type and set of GPUs. Returns the exit code.
int predict_all_reduce(const Options&, const Trace&);

}  // namespace npgpu::cli
