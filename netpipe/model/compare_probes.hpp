// Two traces' probes, shape by shape.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "npgpu/model.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::model {

// Each device of a trace as "cuda#0", "cuda#1" in the order in which they appear.
using Places = std::map<std::string, std::string>;

Verdict verdict_of(const Estimate& a, const Estimate& b, double tolerance);

// Adds a comparison a shape. Times are of what A's trace did in one repeat: repeats may do more work in one version
// of a kernel than in another.
void compare_probes(std::vector<PointComparison>& out, const Trace& a, const Trace& b, const Places&, const Places&,
                    double tolerance);

}  // namespace npgpu::model
