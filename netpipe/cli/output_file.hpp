// A file that a command writes beside its results.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace npgpu::cli {

// Writes what `write` prints to the file that an option names. The file appears whole or not at all: one that it
// replaces (`force`) stays as it was if anything fails. Throws Error.
void write_file(const std::string& option, const std::string& path, bool force,
                const std::function<void(std::ostream&)>& write);

}  // namespace npgpu::cli
