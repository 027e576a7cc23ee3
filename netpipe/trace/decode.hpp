// From the bytes of a file to a Trace.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "npgpu/trace.hpp"

namespace npgpu::trace {

// Error(usage) beginning with `file` if these are not the bytes of a sound trace. HDF5 itself may crash on damaged
// ones.
Trace decode(std::span<const std::byte>, const std::string& file);

// The same, tried in a child process first, so that damaged bytes are an Error whatever HDF5 makes of them.
Trace decode_guarded(std::span<const std::byte>, const std::string& file);

}  // namespace npgpu::trace
