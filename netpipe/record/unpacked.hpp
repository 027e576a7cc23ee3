// The text of a file that may be packed by gzip, as a stream: such files are too large to be held whole.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <streambuf>

namespace npgpu::record {

// zlib is found at run time (libz.so.1). Reading throws Error(usage) where what is packed is damaged, or its text has
// more than `most` bytes: a small file may hold text without end.
class Unpacked final : public std::streambuf {
 public:
  // Throws Error(failed) where the file is packed, and zlib is not there.
  Unpacked(std::filesystem::path, std::uint64_t most);
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  ~Unpacked() override;

 protected:
  int_type underflow() override;

 private:
  std::filesystem::path path_;
  std::uint64_t most_, read_ = 0;
  std::filebuf plain_{};
  void* packed_ = nullptr;  // zlib's file
  std::array<char, 1 << 16> some_{};
};

}  // namespace npgpu::record
