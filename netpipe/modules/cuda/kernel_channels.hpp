// Channels that kernels move: copies, loads that wait for each other, and flags. A copy by the multiprocessors of one
// GPU: its threads load and store 16 bytes at a time, many loads in flight. Either end may be the GPU's own memory,
// pinned memory of the host (zero-copy), or another GPU's memory that it sees.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::cuda {

class CopyKernel {
 public:
  // Makes that GPU current. Loads the kernel, so that it is not loaded behind a gate.
  explicit CopyKernel(int ordinal);
  // In stream order, not waited for; the stream is that GPU's, which is current. Where the two addresses differ by no
  // multiple of 16 bytes, its words are shorter.
  void operator()(void* to, const void* from, std::size_t bytes, cudaStream_t) const;

 private:
  unsigned multiprocessors_;
};

// Loads of 8 bytes from pinned host memory, another GPU's memory or its own, by one thread of a kernel, each from the
// address that the one before brought: an operation is a load, and its time the latency. Pattern::atomic: additions of
// zero in place of loads, of the scope of the whole system.
//
// The pointers lie in random order in 2 MiB, one in every line of 128 bytes, and are loaded past the first-level cache
// (ld.volatile). No cache of the loading GPU keeps lines of other memories for longer; the second-level cache of the
// GPU whose memory it is holds all of them, as it would hold a flag or a counter that is polled.

std::unique_ptr<Channel> chase_channel(const TransferCase&);

// A flag to and fro: each of two writes a word of 8 bytes, which the other waits for, in turn. An operation is there
// and back, begun by a thread of the GPU that moves the case's bytes.
//
// - peer: two GPUs. Each writes into the other's memory and looks at its own, where its second-level cache holds it.
// - d2d: two kernels of one GPU, at once, over its own memory.
// - h2d: a kernel and a thread of the host. Both words are in pinned host memory, as a GPU's memory is not mapped
// there;
//   the host answers while settle() waits.
//
// Words are stored and loaded past the first-level cache and without fences (volatile, which is relaxed at the scope of
// the system): the time of the signal alone. Who has waited for 12 s gives up, so that a flag that never comes is a
// lost trial and not a hung machine; intact() then says so.

std::unique_ptr<Channel> flag_channel(const TransferCase&);

}  // namespace npgpu::cuda
