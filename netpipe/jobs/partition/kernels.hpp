// The partition method's kernels, for systems of either type.
#pragma once

#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/jobs/partition/rows.hpp"
#include "npgpu/vocabulary/partition.hpp"

namespace npgpu::cuda {

// To be launched with a SubSystems and at least as many threads as it has sub-systems.
const void* stage_kernel(Precision, bool is_stage3);
constexpr unsigned stage_threads = 256;  // of a block, as Veneva & Imamura 2025 have it

// In stream order, not waited for. Host memory is pinned.
// The rows of rows.hpp; a, b, c and d have room for `size` of them.
void fill_rows(Precision, std::uint64_t size, void* a, void* b, void* c, void* d, cudaStream_t);
// Bytes that are no number in either type; `bytes` is a multiple of 4.
void poison(void* memory, std::uint64_t bytes, cudaStream_t);
// *bits becomes at least the largest backward error of a row, as the bits of a double; infinity where x is not finite.
// See interface.hpp.
void find_backward_error(Precision, std::uint64_t size, const void* a, const void* b, const void* c, const void* d,
                         const void* x, unsigned long long* bits, cudaStream_t);

}  // namespace npgpu::cuda
