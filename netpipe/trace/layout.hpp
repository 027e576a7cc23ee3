// Names and numbers of data/TRACE_FORMAT.md that both writer and reader need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netpipe/trace/hdf5_handle.hpp"

namespace npgpu::trace {

inline constexpr const char* schema_name = "npgpu-trace";
inline constexpr int version_major = 1;
inline constexpr int version_minor = 3;

// "0007"
std::string group_name(std::size_t index);

// "resume_2"
std::string resume_name(std::size_t number);

Handle create_group(hid_t parent, const std::string& name);
bool has_group(hid_t parent, const std::string& name);
// Throws FormatError if there is no group of that name in `where`.
Handle open_group(hid_t parent, const std::string& where, const std::string& name);

// Names of the groups in a group, sorted. Links out of the file are none.
std::vector<std::string> groups_in(hid_t group);

}  // namespace npgpu::trace
