// What a block writes of its own run. Device code, for the kernels of the probes.
#pragma once

#include "netpipe/devices/cuda/probe_bench.hpp"

namespace npgpu::cuda {

// From when the block's first warp is there to when all have ended; nothing where no record is asked for. The clock is
// read before the first barrier: after it, other warps may run long before this one's turn to read comes.
class BlockClock {
 public:
  __device__ explicit BlockClock(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    begin_ = clock64();
    __syncthreads();
  }
  // Each warp reads its own end: a barrier may let its first warps read the clock before the last have come.
  __device__ void write(BlockRecord* records, std::uint32_t launch) const {
    if (!wanted_) return;
    __shared__ unsigned long long last;
    const auto end = static_cast<unsigned long long>(clock64());
    if (threadIdx.x == 0) last = 0;
    __syncthreads();
    if (threadIdx.x % warpSize == 0) atomicMax(&last, end);
    __syncthreads();
    if (threadIdx.x != 0) return;
    std::uint32_t unit;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    records[blockIdx.x] = {static_cast<std::uint64_t>(begin_), last, unit, launch};
  }

 private:
  bool wanted_;
  long long begin_ = 0;
};

}  // namespace npgpu::cuda
