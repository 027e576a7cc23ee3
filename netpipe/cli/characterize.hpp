// The plan of npgpu characterize, which other commands measure, too.
#pragma once

#include "netpipe/cli/plan_text.hpp"

namespace npgpu::cli {

// Of the devices that --device names, else of all GPUs and the host.
Plan characterize_plan(const Options&);
// Of these devices. Without the host's part unless it is one of them.
Plan characterize_plan(const Options&, const std::vector<DeviceInfo>&);

}  // namespace npgpu::cli
