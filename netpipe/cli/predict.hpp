// A job, and what streams cost on a measured device, as predict and simulate are asked.
#pragma once

#include <optional>
#include <string>

#include "netpipe/cli/options.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/model/record.hpp"

namespace npgpu::cli {

// --bytes-in, --kernel-ms, --bytes-out and --blocks; 0 where not given.
Job parse_job(const Options&);
// What streams cost on that device, or on the trace's only one. Throws Error(usage) naming the trace and what it lacks.
MeasuredCosts costs_of_trace(const Trace&, const std::string& path, const std::optional<std::string>& device);

// What streams cost on what --on names: a simulated device, the twin of one, or the device of a node's trace; `source`
// is what it is called. Throws Error(usage) that begins with --on.
struct CostsAndSource {
  MeasuredCosts costs;
  std::string source;
};
CostsAndSource costs_on(const Options&, const std::string& word);

// The last curve's slope holds beyond the longest measured copy, and the rate of the largest all-reduce beyond that; so
// many times as far, nobody knows.
inline constexpr std::uint64_t far_beyond = 16;

// A line for each type and set of GPUs. Returns the exit code, as the next does.
int predict_all_reduce(const Options&, const Trace&);
bool names_pieces(const Options&);
void refuse_options_of_pieces(const Options&);
int predict_pieces(const Options&, const Trace&, const std::string& path);

// What would make a recorded application faster.
int predict_application(const Options&, const Trace&);
// The costs of a kept GPU of the same name; `device` says which. Throws Error(usage) where none is kept.
MeasuredCosts costs_of_kept(const AppStep&);

}  // namespace npgpu::cli
