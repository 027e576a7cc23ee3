// --case KIND[:LIST]: which series of a trace a command shows or writes.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/trace.hpp"

namespace npgpu::cli {

// "--case transfers:0 probes:1" as "--case transfers:0 --case probes:1".
Arguments spread_cases(const Arguments&);
// Keeps only the series that --case names, in the trace's order, if it was given. Throws Error(usage) naming what there
// is.
void choose_cases(const Options&, Trace&);
// Whether the word is a kind of measurement: transfers, probes, ...
bool is_kind(const std::string& word);
// "transfers:0  cudaMemcpy cuda:0 h2d ...": what --case can name, a line each.
std::vector<std::string> cases_of(const Trace&);

}  // namespace npgpu::cli
