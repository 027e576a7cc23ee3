// What npgpu predict says of copies of pieces.
#pragma once

#include <string>

#include "netpipe/cli/options.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::cli {

bool names_pieces(const Options&);
// Throws Error(usage) where an option is given that only pieces have.
void refuse_options_of_pieces(const Options&);
// `path`: of the trace, in sentences.
int predict_pieces(const Options&, const Trace&, const std::string& path);

}  // namespace npgpu::cli
