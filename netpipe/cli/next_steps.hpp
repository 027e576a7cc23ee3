#pragma once

#include <string>

#include "npgpu/report.hpp"

namespace npgpu::cli {

// What can be asked of this trace next: commands, a line each.
std::string next_steps(const Trace&, const std::string& path, const TextStyle&);

}  // namespace npgpu::cli
