#include "netpipe/trace/image.hpp"

#include <string>

namespace npgpu::trace {

namespace {

Handle in_memory() {
  constexpr std::size_t growth = 64 * 1024;  // bytes by which the buffer grows
  constexpr bool backing_store = false;
  silence_hdf5();
  Handle access = made(H5Pcreate(H5P_FILE_ACCESS), "make a property list");
  done(H5Pset_fapl_core(access, growth, backing_store), "use HDF5's core driver");
  return access;
}

// HDF5 takes two files in memory of the same name for one file: a reader would get the writer's.
std::string unique_name() {
  static unsigned long count = 0;
  return "npgpu-image-" + std::to_string(++count);
}

}  // namespace

Handle new_image() {
  const Handle access = in_memory();
  return made(H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "create a file in memory");
}

Handle open_image(std::span<const std::byte> bytes) {
  const Handle access = in_memory();
  // HDF5 copies the bytes, and does not write to them in spite of the pointer's type.
  done(H5Pset_file_image(access, const_cast<std::byte*>(bytes.data()), bytes.size()), "load a file into memory");
  return made(H5Fopen(unique_name().c_str(), H5F_ACC_RDONLY, access), "open it");
}

std::uint64_t image_size(hid_t file) {
  return static_cast<std::uint64_t>(done(H5Fget_file_image(file, nullptr, 0), "read the size of the file in memory"));
}

void take_image(hid_t file, Bytes& bytes) {
  done(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush the file in memory");
  bytes.resize(image_size(file));
  done(H5Fget_file_image(file, bytes.data(), bytes.size()), "copy the file in memory");
}

}  // namespace npgpu::trace
