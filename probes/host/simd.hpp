// What each instruction set's file gives; find() and the bandwidth probe choose among them at run time. A file whose
// instruction set this build's architecture lacks gives nothing.
#pragma once

#include "probes/compute/chains.hpp"
#include "probes/bandwidth/loops.hpp"

namespace npgpu::simd {

chains::Chains scalar_chains(DataType, unsigned ilp);
chains::Chains avx2_chains(DataType, unsigned ilp);
chains::Chains avx512_chains(DataType, unsigned ilp);
chains::Chains neon_chains(DataType, unsigned ilp);

loops::Loop scalar_loop(Operation, unsigned ilp);
loops::Loop avx2_loop(Operation, unsigned ilp);
loops::Loop avx512_loop(Operation, unsigned ilp);
loops::Loop neon_loop(Operation, unsigned ilp);

}  // namespace npgpu::simd
