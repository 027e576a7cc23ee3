#pragma once

#include <string>

#include "npgpu/device.hpp"

namespace npgpu::cli {

std::string tool_version();  // 0.1.0
std::string git_commit();    // abbreviated, -dirty if the sources differed
Facts build_facts();         // compiler, build type, toolkit and libraries
// What a bug report needs: version, commit, build, modules built and left out.
std::string version_text();

}  // namespace npgpu::cli
