// The sizes that --sizes names, or --start, --end and --perturbation.
#pragma once

#include <cstdint>
#include <vector>

#include "netpipe/cli/options.hpp"

namespace npgpu::cli {

std::vector<std::uint64_t> transfer_sizes(const Options&);

}  // namespace npgpu::cli
