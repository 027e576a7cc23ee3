// The kernels of probe wgmma, which belong to the architecture sm_90a.
#pragma once

#include "netpipe/devices/cuda/probe_bench.hpp"
#include "probes/wgmma/shapes.hpp"

namespace npgpu::cuda {

struct GroupTiles {
  const void *a, *minus_a;  // rows, 32 bytes each
  const void* b;            // columns, 32 bytes each, or 64 of a sparse product
  std::uint32_t repeats;
  std::uint32_t* results;  // one a thread: the sum of its elements, each times its weight
};
using GroupKernel = void (*)(GroupTiles, BlockRecord*, std::uint32_t launch);
// Null where there is none.
GroupKernel group_kernel(const ProbeCase&, std::uint32_t columns);

}  // namespace npgpu::cuda
