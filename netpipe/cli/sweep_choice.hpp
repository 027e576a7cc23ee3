#pragma once

#include "netpipe/cli/options.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

// --sweep, --probe and --streams, for the options of a command.
void declare_choice(po::options_description&);
// Keeps only what they name (numbers as in the trace, lists), if one of them was given.
void choose_sweeps(const Options&, Trace&);
// "  0  cudaMemcpy cuda:0 h2d ...": what --sweep can name.
std::string sweeps_text(const Trace&);

}  // namespace npgpu::cli
