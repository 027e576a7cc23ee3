// The numbers of a GPU that an administrator acts on, out of all that a trace holds of it: links each way, memory,
// computing power, latencies, calls.
#pragma once

#include <string>
#include <vector>

#include "netpipe/model/health/record.hpp"
#include "npgpu/fleet.hpp"

namespace npgpu::model {

// In the order of kinds, each name once. Those without a usable point are left out.
std::vector<FleetFigure> key_figures_of(const DeviceRecord&);

// Copies between this GPU and others, of the pair that is slowest: "copy to another GPU", "copy from another GPU".
std::vector<FleetFigure> peer_figures_of(const Trace&, const std::string& id);

// How the times of each kind moved within the run. What others disturbed does not count; what the device itself did to
// its clocks does.
std::vector<FleetCourse> courses_of(const DeviceRecord&);

}  // namespace npgpu::model
