// A kernel that nobody has run yet, as predict and simulate are asked of it.
#pragma once

#include "netpipe/cli/options.hpp"
#include "npgpu/model/device_model.hpp"

namespace npgpu::cli {

// Whether --flops or --bytes-moved is there.
bool counts_a_kernel(const Options&);
// Throws Error(usage) where they are no kernel's, or the kernel's time is given as well.
KernelCounts parse_kernel_counts(const Options&);
// For the help of a command.
OptionGroup kernel_counts_group();

}  // namespace npgpu::cli
