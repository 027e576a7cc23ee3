#pragma once

#include <string>
#include <vector>

#include "npgpu/report.hpp"

namespace npgpu::cli {

// What can be asked of this trace next: commands, a line each. `predictable`: the devices whose streams' costs it has.
std::string next_steps(const Trace&, const std::vector<std::string>& predictable, const std::string& path,
                       const TextStyle&);

}  // namespace npgpu::cli
