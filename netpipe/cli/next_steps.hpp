#pragma once

#include <string>
#include <vector>

#include "npgpu/report.hpp"

namespace npgpu::cli {

// What can be asked of this trace next: commands, a line each. `predictable`: the devices whose streams' costs it has;
// `is_whole`: all of it was shown, so that --all has nothing to add.
std::string next_steps(const Trace&, const std::vector<std::string>& predictable, const std::string& path,
                       bool is_whole, const TextStyle&);

}  // namespace npgpu::cli
