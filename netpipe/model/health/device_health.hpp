// The health of each device by itself, without what several have to do with each other.
#pragma once

#include <vector>

#include "npgpu/health.hpp"

namespace npgpu::model {

// Findings of each device of the trace in its order, then of the host.
std::vector<HealthFinding> health_of_devices(const Trace&, const HealthRules&);

}  // namespace npgpu::model
