// Who measured, where, with what: written once into the trace, before the first point.
#pragma once

#include <vector>

#include "npgpu/device.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

TraceRoot trace_root();
// build, host, gpu0.. (the devices given), slurm and environment where there is something to say, and what
// the plan left out.
Provenance provenance(const std::vector<DeviceInfo>& devices, const std::vector<std::string>& left_out);

}  // namespace npgpu::cli
