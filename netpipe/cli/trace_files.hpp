// Names of traces that a command takes several of.
#pragma once

#include <string>
#include <vector>

namespace npgpu::cli {

// A folder stands for its traces (*.h5), by name. Throws Error(usage) if it has none.
std::vector<std::string> trace_files(const std::vector<std::string>& words);

}  // namespace npgpu::cli
