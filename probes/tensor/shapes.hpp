// What probe tensor asks. GPUs and simulated devices share it.
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu::tensor {

// mma.sync of each type, then wgmma, which has no fp64.
std::vector<ProbeCase> cases(const std::string& device);

// The corners, where a warp (mma) or four (wgmma) stand for one lane; of mma also by chains of a warp, `ilp`. wgmma's
// `ilp` is 1, because its products are queued, and so is that of fp64, of which more chains need more registers than a
// thread of a full block has.
std::vector<Shape> shapes(const Layout&, const ProbeCase&);
// One-One, and the largest All-All.
std::vector<Shape> default_shapes(const Layout&, const ProbeCase&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// Operations of all threads in one repeat, two a multiply-add.
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::tensor
