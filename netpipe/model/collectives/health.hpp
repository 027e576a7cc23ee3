// Links between GPUs that slow down what they do together.
#pragma once

#include <string>
#include <vector>

#include "netpipe/model/matrix/links.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu::model {

// Of slow ones that follow each other a single one is of its two GPUs, and two are of the GPU between them.
// More of them, a ring leaves open: the links of 1 and 3, of 1, 2 and 3, or of each pair may be slow.
std::vector<SlowLink> slow_links_of(const std::vector<MatrixCell>& ring, const Links&);
// Of findings_between_gpus(): pairs among these GPUs that go through the host where others on their kind of link do
// not.
std::vector<SlowLink> blind_pairs(const std::vector<NodeFinding>&, const std::vector<std::string>& gpus);

// What the operations that a node's GPUs did together say of its health.

// Empty where the trace has none. `between_gpus`: what its copies say; a slow link that is among them is not said
// again.
std::vector<HealthFinding> findings_of_collectives(const Trace&, const std::vector<NodeFinding>& between_gpus);

}  // namespace npgpu::model
