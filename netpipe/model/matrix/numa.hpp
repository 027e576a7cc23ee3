// The host's NUMA nodes against the GPUs: which is the fastest for each, and what the others cost.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "netpipe/model/matrix/links.hpp"
#include "npgpu/matrix.hpp"

namespace npgpu::model {

using NumaCells = std::map<std::string, std::vector<NumaCell>>;  // by GPU

// Fills node.numa. A GPU whose fastest node is not the one that the system names is added to node.findings.
void add_numa(NodeMatrix& node, NumaCells, const Links&);

}  // namespace npgpu::model
