// What several commands read off their options, and the plans that they share. First --case KIND[:LIST]: which series
// of a trace a command shows or writes.
#pragma once

#include <algorithm>
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
// Whether the value is one of those that the option names; yes where it was not given.
template <class E> bool is_named(const Options& options, const std::string& option, E value) {
  const auto words = options.maybe(option);
  return !words || std::ranges::count(parse_names<E>(option, *words), value) > 0;
}

// The plan of npgpu characterize, which other commands measure, too.

// For the devices that --device names, else for all GPUs and the host.
Plan characterize_plan(const Options&);
// For these devices; without the host's part unless it is one of them.
Plan characterize_plan(const Options&, const std::vector<DeviceInfo>&);

// Energies: each work at its full rate and at half of it, and rest once. Throws Error: usage or nothing where the
// device's energy cannot be read.
void add_energy(Plan&, const DeviceInfo&);

}  // namespace npgpu::cli
