// The plan of npgpu characterize, which other commands measure, too.
#pragma once

#include "netpipe/cli/plan_text.hpp"

namespace npgpu::cli {

// Of the devices that --device names, else of all GPUs and the host.
Plan characterize_plan(const Options&);

}  // namespace npgpu::cli
