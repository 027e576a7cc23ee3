// Multiply-adds and products on what is read from shared memory. Each block copies its set there, and its warps step
// through it, each through all of it, two steps' words in registers as in stream.cuh. Blocks need no turns: nothing
// that they read is another's. Chains begin anew in each repeat, so that no number of repeats is too many for exact
// sums.
#include "netpipe/devices/cuda/check.hpp"
#include "probes/roofline/multiplies.cuh"
#include "probes/roofline/products.cuh"

namespace npgpu::cuda::rooflines {

namespace {

constexpr std::uint32_t of_warp_step = accesses * warp;  // of 16 bytes

__device__ void load_shared(Words& words, std::uint32_t at) {
#pragma unroll
  for (unsigned i = 0; i < accesses; ++i)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[i].x), "=r"(words[i].y), "=r"(words[i].z), "=r"(words[i].w)
                 : "r"(at + i * warp * roofline::access_bytes));
}

template <class Work> __global__ void __launch_bounds__(roofline::max_threads, roofline::blocks_of_unit) stay(Run run) {
  extern __shared__ uint4 block_set[];
  for (std::uint32_t i = threadIdx.x; i < run.regions * of_warp_step; i += blockDim.x) block_set[i] = run.memory[i];
  __syncthreads();
  constexpr std::uint32_t step = of_warp_step * roofline::access_bytes;
  const std::uint32_t set = static_cast<std::uint32_t>(__cvta_generic_to_shared(block_set));
  const std::uint32_t begin = set + threadIdx.x % warp * roofline::access_bytes, end = begin + run.regions * step;
  roofline::Total total;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t repeat = 0; repeat < run.turns; ++repeat) {
    Work work;
    work.begin(run);
    std::uint32_t at = begin;
    Words now, then;
    load_shared(now, at);
    load_shared(then, at + step);
#pragma unroll 1
    for (std::uint32_t pair = 0; pair < run.pairs; ++pair) {
      work.step(now, run);
      at += 2 * step;
      if (at == end) at = begin;
      load_shared(now, at);
      if (run.kept) force_load(now, run);
      work.step(then, run);
      load_shared(then, at + step);
    }
    const roofline::Total one = work.total();
    total.weighted += one.weighted;
    total.added += one.added;
  }
  clock.write(run.records, run.launch);
  roofline::Total& slot = run.totals[blockIdx.x % slots];
  atomicAdd(reinterpret_cast<unsigned long long*>(&slot.weighted), static_cast<unsigned long long>(total.weighted));
  atomicAdd(reinterpret_cast<unsigned long long*>(&slot.added), static_cast<unsigned long long>(total.added));
}

template <class Type, std::uint32_t n = 2> Kernel of_multiplies(std::uint32_t operations) {
  if constexpr (n <= most_unrolled) {
    if (operations == n) return stay<Multiplies<Type, n>>;
    return of_multiplies<Type, 2 * n>(operations);
  }
  return nullptr;
}
template <std::uint32_t n = 1> Kernel of_products(std::uint32_t products) {
  if constexpr (n <= most_unrolled_products) {
    if (products == n) return stay<Products<n>>;
    return of_products<2 * n>(products);
  }
  return nullptr;
}

}  // namespace

Kernel shared_kernel(DataType type, std::uint32_t operations) {
  const Kernel kernel = type == DataType::fp16   ? of_products(operations)
                        : type == DataType::fp64 ? of_multiplies<Fp64Elements>(operations)
                                                 : of_multiplies<Fp32Elements>(operations);
  cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "leaving as much as possible to shared memory");
  return kernel;
}

}  // namespace npgpu::cuda::rooflines
