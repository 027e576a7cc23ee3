// What the driver does after device memory was freed: it clears the pages behind everybody's back, and takes a part of
// the memory's bandwidth for as long. Seen with driver 580 on H100s and H200s: 2.5 ms a GiB, in which whoever reads
// memory needs 1.2 times as long; after cudaFree and after the end of a context, whether or not the pages were touched,
// and not after cudaFreeAsync into a pool. So nothing is measured before that is over.
#pragma once

#include <cstdint>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

// How long a GPU's driver may still be clearing its memory.
class Clearing {
 public:
  // The driver is taken to clear at least so many bytes a second: 0.6 of what was seen (425 GB/s). Of memory with less
  // bandwidth, which was not measured, 7.5 % of that.
  static constexpr double usual_bytes_per_s = 250e9, share_of_memory = 0.075;
  static double rate(double memory_bytes_per_s);

  explicit Clearing(double bytes_per_s = usual_bytes_per_s) : bytes_per_s_(bytes_per_s) {}
  void freed(std::uint64_t bytes, Seconds now);
  // What is freed while there is no context, and when there is one again.
  void freed_without_context(std::uint64_t bytes) { waiting_bytes_ += bytes; }
  void context_is_there(Seconds now);
  Seconds rest(Seconds now) const;  // 0: it is done

 private:
  double bytes_per_s_;
  Seconds until_{-1e18};
  std::uint64_t waiting_bytes_ = 0;
};

// The driver was not seen to clear while no program had a context on the GPU: what was freed then, it clears once there
// is one. So the time counts from there.

// Notes memory that this process, a second process of its own or a neighbour freed on that GPU. From any thread.
void note_freed(int ordinal, std::uint64_t bytes);
// Sleeps until the GPU has cleared all that was freed. The first call takes it that all of its memory was freed by the
// job before.
void wait_until_cleared(int ordinal);
// The context of this process is gone, and what it had was freed; the next wait counts from the new context.
void note_context_end(int ordinal);

}  // namespace npgpu::cuda
