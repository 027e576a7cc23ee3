// Pairs that are slower than those that are joined alike.
#pragma once

#include <vector>

#include "netpipe/model/matrix/links.hpp"
#include "npgpu/matrix.hpp"

namespace npgpu::model {

// A GPU of which all copies are slow is one finding, as is a pair that is slow both ways; each with all matrices in
// which it stands out.
std::vector<MatrixFinding> outliers_of(const NodeMatrix&, const Links&);

}  // namespace npgpu::model
