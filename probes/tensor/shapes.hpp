// What probe tensor asks. GPUs and simulated devices share it.
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu::tensor {

// mma.sync of each type, then wgmma, which has no fp64.
std::vector<ProbeCase> cases(const std::string& device);

// The corners, where a warp (mma) or four (wgmma) stand for one lane; of mma also by chains of a warp, `ilp`. wgmma's
// `ilp` is 1: its products are queued.
std::vector<Shape> shapes(const Layout&, Operation);
// One-One, and the largest All-All.
std::vector<Shape> usual_shapes(const Layout&, Operation);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// Operations of all threads in one repeat, two a multiply-add.
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::tensor
