// From the bytes of a file to a Trace.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/process/child.hpp"
#include "npgpu/vocabulary/trace.hpp"

namespace npgpu::trace {

// What a file holds: a trace, or the runs of a merged file.
struct Contents {
  std::vector<Trace> runs;
  std::size_t count = 0;  // of runs, also of those that were not asked for
  bool is_merged = false;
};
// `only`: of a merged file only this run. Error(usage) beginning with `file` if these are not the bytes of a sound
// trace or merged file. HDF5 itself may crash on damaged ones.
Contents decode(std::span<const std::byte>, const std::string& file, std::optional<std::size_t> only = {},
                Depth = Depth::whole);

// HDF5 can crash or hang on a damaged file. It can also write past its buffers, of which a process may die much later:
// HDF5 1.10.8 copies as many bytes of a text as the file's heap claims into a buffer for as many as the attribute
// claims. So a child process reads such a file, and its parent's HDF5 never sees it.

// What the child hands to its parent. `image`: where the parent needs a file, one that HDF5 wrote anew.
struct DecodedFile {
  Contents contents;
  std::vector<std::byte> image{};
};
// What `make` makes of the file of so many bytes, in a child process; in this one if there can be none. Throws what
// that threw, or Error(usage) saying that the file is damaged if the child died.
DecodedFile in_child(std::size_t bytes, const std::string& file, const std::function<DecodedFile()>& make);

// What a child may take that reads a file of so many bytes. What takes more, does not end: HDF5 goes round in damaged
// files.
process::Limits limits_for(std::size_t bytes);
// "is damaged: HDF5 fails on it (Segmentation fault)"
std::string died_of(const std::string& how);

// What a child process made of a file, as the bytes that it sends through a pipe. The parent takes them without HDF5.

std::string packed(const DecodedFile&);
// Throws FormatError if these are not the bytes of one, or what a trace holds would not be sound: the child's memory
// may have been written over.
DecodedFile unpacked(std::string_view);

}  // namespace npgpu::trace
