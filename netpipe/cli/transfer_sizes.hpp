// The sizes that --sizes names, or --start, --end and --perturbation.
#pragma once

#include <cstdint>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"

namespace npgpu::cli {

std::vector<std::uint64_t> transfer_sizes(const Options&);

// The words of an option that takes several; `standard` where it was not given.
template <class E> std::vector<E> names_or(const Options& options, const std::string& option, E standard) {
  const auto text = options.maybe(option);
  return text ? parse_names<E>(option, *text) : std::vector<E>{standard};
}

}  // namespace npgpu::cli
