// What a child process made of a file, as the bytes that it sends through a pipe. The parent takes them without HDF5.
#pragma once

#include <string>
#include <string_view>

#include "netpipe/trace/decode.hpp"

namespace npgpu::trace {

std::string packed(const DecodedFile&);
// Throws FormatError if these are not the bytes of one, or what a trace holds would not be sound: the child's memory
// may have been written over.
DecodedFile unpacked(std::string_view);

}  // namespace npgpu::trace
