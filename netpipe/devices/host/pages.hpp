// Memory in pages as large as the system gives, touched by nobody yet: the thread that touches a page first decides
// the NUMA node that it lies on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace npgpu::host {

constexpr std::uint64_t huge_page_bytes = 2 * 1024 * 1024;

class Pages {
 public:
  Pages() = default;
  // Starts on the boundary of a huge page, and reads as zero. Throws Error(failed) with the size if there is none.
  explicit Pages(std::uint64_t bytes);

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // How much of what has been touched lies in huge pages, as /proc/self/smaps has it; 0 where that cannot be read.
  std::uint64_t huge_bytes() const;

 private:
  struct Unmap {
    std::uint64_t bytes;
    void operator()(std::byte*) const;
  };
  std::unique_ptr<std::byte, Unmap> mapping_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace npgpu::host
