// What a probe asks of a device of this layout: pure lists of shapes, corners first, each shape once. GPUs and
// simulated devices share them; a CPU has its own, because its lanes are all or one.
#pragma once

#include <vector>

#include "npgpu/probe.hpp"

namespace npgpu {

// One-One; One-All and All-All over threads per block and ilp; All-One over blocks per unit, the first of them alone.
std::vector<Shape> compute_shapes(const Layout&);

// The same corners on memory far beyond the cache, over access widths, threads and accesses in flight; and one
// working set inside the cache. The dependent form has one access in flight.
std::vector<Shape> bandwidth_shapes(const Layout&, Form);

}  // namespace npgpu
