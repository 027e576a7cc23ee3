// What the operations that a node's GPUs did together say of its health.
#pragma once

#include <vector>

#include "npgpu/health.hpp"
#include "npgpu/matrix_verdict.hpp"

namespace npgpu::model {

// Empty where the trace has none. `between_gpus`: what its copies say; a slow link that is among them is not said
// again.
std::vector<HealthFinding> findings_of_collectives(const Trace&, const std::vector<NodeFinding>& between_gpus);

}  // namespace npgpu::model
