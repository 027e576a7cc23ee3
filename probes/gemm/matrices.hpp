// Matrices of a gemm in a GPU's memory: filled, and compared with what they must be.
#pragma once

#include "netpipe/devices/cuda/check.hpp"
#include "probes/gemm/elements.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu::cuda {

// A, B and what C holds at first, of that type and as they lie in memory by the shape's ops.
void fill_operands(const ProbeCase&, const Shape&, void* a, void* b, cudaStream_t);
void fill_first(const ProbeCase&, const Shape&, void* c, cudaStream_t);
// Writes the place of the first element of C that is not what it must be to `place`, which holds a larger number; all
// are pointers of the device.
void find_wrong(const ProbeCase&, const Shape&, const void* c, const gemm::Product&, const gemm::Update&,
                unsigned long long* place, cudaStream_t);

}  // namespace npgpu::cuda
