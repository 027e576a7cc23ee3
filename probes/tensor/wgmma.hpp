// Hopper's products of a warp group (four warps), 64 x 256 elements at a time, from shared memory.
#pragma once

#include "netpipe/devices/cuda/probe_bench.hpp"
#include "probes/tensor/tiles.hpp"

namespace npgpu::cuda {

using WgmmaKernel = void (*)(tensor::Tiles, BlockRecord*, std::uint32_t launch);
// Nothing for a type that wgmma does not have. Only devices of capability 9.0 run it.
WgmmaKernel wgmma_kernel(DataType);

}  // namespace npgpu::cuda
