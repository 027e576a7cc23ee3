// Host memory that copies and probes work on, and how much of it is free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::host {

constexpr std::uint64_t alignment_bytes = 4096;

// How a payload lies in an allocation whose start is aligned to alignment_bytes: at `lead_bytes + offset`, with a
// guard (payload.hpp) right before it and one after it, whatever the payload's size up to max_bytes.
constexpr std::uint64_t lead_bytes = alignment_bytes;
// The size of that allocation, in whole pages; stays at the top instead of wrapping.
std::uint64_t allocation_bytes(std::uint64_t max_bytes, std::uint64_t offset);

// One end of a copy.
struct End {
  Memory kind = Memory::device;
  std::uint64_t offset = 0;  // of the payload past an aligned address
};
End source_of(const TransferCase&);
End target_of(const TransferCase&);
// All that a channel has memory for: both, and for a round trip the landing buffer, which is as the source.
std::vector<End> ends_of(const TransferCase&);

// Large pages are for memory whose speed nobody measures: it is there sooner.
enum class PageSize { usual, large };

// Pageable memory, aligned, every page touched under the binding in force when it was made.
class PageableBuffer {
 public:
  PageableBuffer() = default;
  // Throws Error(failed) with the size if there is none.
  PageableBuffer(std::uint64_t max_bytes, std::uint64_t offset, PageSize = PageSize::usual);

  // Where the payload starts: `offset` bytes past an aligned address.
  std::byte* data() const { return payload_; }
  std::span<std::byte> payload(std::uint64_t bytes) const { return {payload_, bytes}; }
  std::uint64_t max_bytes() const { return max_bytes_; }

 private:
  struct Free {
    void operator()(std::byte*) const;
  };
  std::unique_ptr<std::byte, Free> start_;
  std::byte* payload_ = nullptr;
  std::uint64_t max_bytes_ = 0;
};

// What the machine has in all, without the memory of GPUs that the system counts as its own (Grace Hopper: a NUMA node
// each); 0 if unknown. `root` is for tests, here and below.
std::uint64_t physical_memory(const std::filesystem::path& root = "/");

// What a process can take now without driving the machine, or its container, out of memory: MemAvailable, or the
// room under the tightest limit of its cgroup and the cgroups above (version 1 or 2; page cache that can be given
// back counts as free), whichever is less. Memory of GPUs does not count.
std::uint64_t free_host_memory(const std::filesystem::path& root = "/");

// Memory in pages as large as the system gives, touched by nobody yet: the thread that touches a page first decides
// the NUMA node that it lies on.

constexpr std::uint64_t huge_page_bytes = 2 * MiB;

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
