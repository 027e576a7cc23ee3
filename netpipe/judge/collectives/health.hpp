// What the operations that a node's GPUs did together say of its health, and of links that slow them down.
#pragma once

#include <string>
#include <vector>

#include "netpipe/judge/matrix/links.hpp"
#include "npgpu/judge/health.hpp"
#include "npgpu/judge/matrix.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu::model {

// A single slow copy is of its two GPUs; two that follow each other are of the GPU between them. Where more do, a ring
// leaves it open: the links of 1 and 3, of 1, 2 and 3, or of each pair may be slow.
std::vector<SlowLink> slow_links_of(const std::vector<MatrixCell>& ring, const Links&);
// Pairs among these GPUs that go through the host where others on their kind of link do not, from the findings of
// findings_between_gpus().
std::vector<SlowLink> blind_pairs(const std::vector<NodeFinding>&, const std::vector<std::string>& gpus);

// Empty where the trace has none. `between_gpus`: what its copies say; a slow link that is among them is not said
// again.
std::vector<HealthFinding> findings_of_collectives(const Trace&, const std::vector<NodeFinding>& between_gpus);

}  // namespace npgpu::model
