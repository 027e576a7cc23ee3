// --case KIND[:LIST]: which series of a trace a command shows or writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/vocabulary/trace.hpp"

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

// The sizes that --sizes names, or --start, --end and --perturbation.

std::vector<std::uint64_t> transfer_sizes(const Options&);

// The words of an option that takes several; `standard` where it was not given.
template <class E> std::vector<E> names_or(const Options& options, const std::string& option, E standard) {
  const auto text = options.maybe(option);
  return text ? parse_names<E>(option, *text) : std::vector<E>{standard};
}

// The plan of npgpu characterize, which other commands measure, too.

// Of the devices that --device names, else of all GPUs and the host.
Plan characterize_plan(const Options&);
// Of these devices. Without the host's part unless it is one of them.
Plan characterize_plan(const Options&, const std::vector<DeviceInfo>&);

}  // namespace npgpu::cli
