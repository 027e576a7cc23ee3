// What npgpu check --soak and --memory-test measure.
#pragma once

#include <vector>

#include "npgpu/plan.hpp"

namespace npgpu::cli {

// Slices until the time is over: each load by itself in turn, and after each of them several at once. In a slice all
// devices work at the same time.
Plan soak_plan(const std::vector<DeviceInfo>&, Seconds duration, bool with_memory_test);
// One thorough test of the memory of each, all at once.
Plan memory_test_plan(const std::vector<DeviceInfo>&);

}  // namespace npgpu::cli
