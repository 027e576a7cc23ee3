// The node as a drawing: its host, its GPUs, what joins them, and the rates on it.
#pragma once

#include <string>

#include "npgpu/matrix.hpp"
#include "npgpu/matrix_verdict.hpp"
#include "npgpu/overview.hpp"

namespace npgpu::html {

// A figure element. Empty without a GPU that was copied to or from.
std::string node_picture(const Overview&, const NodeMatrix&, const MatrixVerdict&);

}  // namespace npgpu::html
