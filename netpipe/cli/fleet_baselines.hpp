// Baselines of a fleet in a file: JSON, one for each time that it was asked to keep them.
#pragma once

#include <string>
#include <vector>

#include "npgpu/fleet.hpp"

namespace npgpu::cli {

// By date. Throws Error(usage) naming the option where the file is none of baselines.
std::vector<FleetBaseline> read_baselines(const std::string& option, const std::string& path);
// Those in the file that keep_baseline() adds to, if there is one: also before a long run. Throws what it would throw.
std::vector<FleetBaseline> baselines_to_keep(const std::string& option, const std::string& path);
// Adds one to the file, or makes it; replaces one of the same date.
void keep_baseline(const std::string& option, const std::string& path, const FleetBaseline&);

}  // namespace npgpu::cli
