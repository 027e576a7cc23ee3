// Names and numbers of data/TRACE_FORMAT.md that both writer and reader need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netpipe/trace/hdf5_handle.hpp"

namespace npgpu::trace {

inline constexpr const char* schema_name = "npgpu-trace";
inline constexpr int version_major = 2;
inline constexpr int version_minor = 0;

// "0007"
std::string group_name(std::size_t index);

// "resume_2"
std::string resume_name(std::size_t number);

Handle create_group(hid_t parent, const std::string& name);
bool has_link(hid_t parent, const std::string& name);
// False if there is nothing of that name. Throws FormatError if it is a link, which may lead out of the file.
bool has_own(hid_t parent, const std::string& name, const std::string& called);
// Throws FormatError if there is no group of that name in `where`.
Handle open_group(hid_t parent, const std::string& where, const std::string& name);

// All names in a group, sorted.
std::vector<std::string> names_in(hid_t group);

}  // namespace npgpu::trace
