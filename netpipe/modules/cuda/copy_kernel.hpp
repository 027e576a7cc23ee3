// A copy by the multiprocessors of one GPU: its threads load and store 16 bytes at a time, many loads in flight. Either
// end may be the GPU's own memory, pinned memory of the host (zero-copy), or another GPU's memory that it sees.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace npgpu::cuda {

class CopyKernel {
 public:
  // Of that GPU, which is made current. Loads the kernel, so that it is not loaded behind a gate.
  explicit CopyKernel(int ordinal);
  // In stream order, not waited for; the stream is that GPU's, which is current. Where the two addresses differ by no
  // multiple of 16 bytes, its words are shorter.
  void operator()(void* to, const void* from, std::size_t bytes, cudaStream_t) const;

 private:
  unsigned multiprocessors_;
};

}  // namespace npgpu::cuda
