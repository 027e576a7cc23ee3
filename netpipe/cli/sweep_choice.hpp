#pragma once

#include "netpipe/cli/options.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

// Keeps only the sweeps that --sweep names (numbers as in the trace, a list), if it was given.
void choose_sweeps(const Options&, Trace&);
// "  0  cudaMemcpy cuda:0 h2d ...": what --sweep can name.
std::string sweeps_text(const Trace&);

}  // namespace npgpu::cli
