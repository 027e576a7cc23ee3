// What is in a folder that came from outside.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace npgpu::files {

// Its entries as paths that begin with it, in order; as many as could be read where `error` is set. Never throws: a
// folder may be unreadable, or vanish while it is read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder, std::error_code& error);

}  // namespace npgpu::files
