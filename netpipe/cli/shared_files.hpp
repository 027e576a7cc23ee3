// Files of `npgpu report --share`, as others sent them.
#pragma once

#include <string>
#include <vector>

#include "npgpu/shared.hpp"

namespace npgpu::cli {

// Of files, and of all in folders that are such documents. Throws Error(usage) where a file is none, and where no path
// has one.
std::vector<SharedNode> read_shared(const std::vector<std::string>& paths);

}  // namespace npgpu::cli
