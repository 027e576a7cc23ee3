// A trace in memory: HDF5's core driver without a backing store, and the bytes that a file of it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "netpipe/trace/hdf5_handle.hpp"

namespace npgpu::trace {

using Bytes = std::vector<std::byte>;

// An empty file in memory, in HDF5's earliest format.
Handle new_image();

// Opens a copy of these bytes, to be read. Throws FormatError if HDF5 cannot.
Handle open_image(std::span<const std::byte>);

// Size of the file now, without what the caches hold back.
std::uint64_t image_size(hid_t file);

// Flushes, and copies the whole file into `bytes`.
void take_image(hid_t file, Bytes& bytes);

}  // namespace npgpu::trace
