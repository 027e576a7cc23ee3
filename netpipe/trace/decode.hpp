// From the bytes of a file to a Trace.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "npgpu/trace.hpp"

namespace npgpu::trace {

// Error(usage) beginning with `file` if these are not the bytes of a sound trace. HDF5 itself may crash on damaged
// ones.
Trace decode(std::span<const std::byte>, const std::string& file);

// Does it in a child process; throws what that threw, or Error(usage) saying that the file is damaged if the child
// died.
void rehearse(std::size_t bytes, const std::string& file, const std::function<void()>& what);

}  // namespace npgpu::trace
