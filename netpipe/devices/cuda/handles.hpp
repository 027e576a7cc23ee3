// Owners of what the CUDA runtime gives out: move-only, and their destructor is where the thing dies.
// All belong to the device that was current when they were made.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "npgpu/transfer.hpp"
#include "npgpu/units.hpp"

namespace npgpu::cuda {

// A stream of its own that does not wait for the legacy default stream.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  cudaStream_t get() const { return stream_; }
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t);
  // Both must be done. Resolution about half a microsecond.
  static Seconds between(const Event& begin, const Event& end);

 private:
  cudaEvent_t event_ = nullptr;
};

// Memory that the runtime gives out: device, pinned, write_combined or managed; page-aligned on the host,
// 256-byte aligned on the device. Host kinds are mapped: the device reads and writes them at the same
// address. Throws an Error that says how much of what was wanted.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Memory kind, std::uint64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), kind_(other.kind_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  Memory kind() const { return kind_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  Memory kind_ = Memory::device;
};

// Moves the pages of a managed buffer to the host, where the device supports it; in stream order.
void prefetch_to_host(const void* managed, std::uint64_t bytes, int ordinal, cudaStream_t);

}  // namespace npgpu::cuda
