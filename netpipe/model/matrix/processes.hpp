// What was measured while a second process worked, compared with the same alone.
#pragma once

#include <vector>

#include "npgpu/matrix.hpp"

namespace npgpu::model {

// In the order in which the trace has its GPUs.
std::vector<ProcessGpu> processes_of(const Trace&);

}  // namespace npgpu::model
