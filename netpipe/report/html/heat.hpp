// A node's matrix on a page: tables whose cells are as dark as their values are far from 0. Each cell has its number,
// so that nothing is said by colour alone.
#pragma once

#include "netpipe/report/document.hpp"
#include "npgpu/matrix_verdict.hpp"

namespace npgpu::html {

// Tables, what many copies at once had, and notes; empty where the trace has no matrix.
Document matrix_tables(const NodeMatrix&, const MatrixVerdict&);

}  // namespace npgpu::html
