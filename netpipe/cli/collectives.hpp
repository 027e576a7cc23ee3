// What npgpu collectives measures, and npgpu check of a node with several GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "npgpu/vocabulary/collective.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::cli {

// The case over these sizes, or the next larger ones that it has.
std::vector<Step<Collectives>> fitting_steps(const CollectiveCase&, const std::vector<std::uint64_t>& sizes);

// These, and copies of kernels at once between the GPUs, which the limits are of. Empty where none of them can be
// measured; `left_out` says why. Throws Error(usage) where no backend has such GPUs. REQUIRES: two GPUs and more.
Plan collectives_plan(const std::vector<DeviceInfo>& gpus, const std::vector<Step<Collectives>>&);

// For a check: an all-reduce of one small size, on the devices, and of one large one.
Plan all_reduce_plan(const std::vector<DeviceInfo>& gpus);

// A prediction of what GPUs do together.

// A line for each type and set of GPUs. Returns the exit code.
int predict_all_reduce(const Options&, const Trace&);

}  // namespace npgpu::cli
