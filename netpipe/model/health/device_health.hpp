// The health of each device by itself, and what several have to do with each other.
#pragma once

#include <vector>

#include "npgpu/health.hpp"

namespace npgpu::model {

// Findings of each device of the trace in its order, then of the host.
std::vector<HealthFinding> health_of_devices(const Trace&, const HealthRules&);

// Findings of the node, and of no single device: GPUs that do not answer, copies between GPUs, collectives.
std::vector<HealthFinding> health_of_node(const Trace&);

}  // namespace npgpu::model
