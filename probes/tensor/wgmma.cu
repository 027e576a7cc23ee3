// wgmma belongs to the architecture sm_90a and to no later one, so this file is compiled for that one alone.
#include "probes/cuda.hpp"
#include "probes/tensor/wgmma.hpp"
#include "probes/tensor/wgmma_operands.cuh"

namespace npgpu::cuda {

namespace {

constexpr unsigned group_threads = 128, row_bytes = 32, elements = tensor::columns / 2;  // elements: of D, of a thread

// D += A * B. The settings: D is added to, and, where the type has them, A and B are not negated and not transposed.
#define NPGPU_WGMMA(instruction, c, settings)                                                                         \
  asm volatile("wgmma.mma_async.sync.aligned." instruction " " NPGPU_SUMS_128 ", " NPGPU_SHARED_128 ", " settings ";" \
               : NPGPU_OUT_128(c)                                                                                     \
               : "l"(a), "l"(b))

struct Fp16 {
  using Word = float;
  static __device__ void multiply(Word (&d)[elements], std::uint64_t a, std::uint64_t b) {
    NPGPU_WGMMA("m64n256k16.f32.f16.f16", "f", "1, 1, 1, 0, 0");
  }
};
struct Bf16 {
  using Word = float;
  static __device__ void multiply(Word (&d)[elements], std::uint64_t a, std::uint64_t b) {
    NPGPU_WGMMA("m64n256k16.f32.bf16.bf16", "f", "1, 1, 1, 0, 0");
  }
};
struct Tf32 {
  using Word = float;
  static __device__ void multiply(Word (&d)[elements], std::uint64_t a, std::uint64_t b) {
    NPGPU_WGMMA("m64n256k8.f32.tf32.tf32", "f", "1, 1, 1");
  }
};
struct Fp8 {
  using Word = float;
  static __device__ void multiply(Word (&d)[elements], std::uint64_t a, std::uint64_t b) {
    NPGPU_WGMMA("m64n256k32.f32.e4m3.e4m3", "f", "1, 1, 1");
  }
};
struct Int8 {
  using Word = int;
  static __device__ void multiply(Word (&d)[elements], std::uint64_t a, std::uint64_t b) {
    NPGPU_WGMMA("m64n256k32.s32.s8.s8", "r", "1");
  }
};

// Each warp group multiplies the same tiles, into elements of its own.
template <class Type>
__global__ void __launch_bounds__(2 * group_threads, 1)
    multiply_groups(tensor::Tiles tiles, BlockRecord* records, std::uint32_t launch) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ alignas(128) char a0[tensor::group_rows * row_bytes], a1[tensor::group_rows * row_bytes];
  __shared__ alignas(128) char b[tensor::columns * row_bytes];
  copy_tile<2>(a0, tiles.a0, tensor::group_rows);
  copy_tile<2>(a1, tiles.a1, tensor::group_rows);
  copy_tile<2>(b, tiles.b, tensor::columns);
  asm volatile("fence.proxy.async;" ::: "memory");  // what threads wrote, before the tensor cores read it
  __syncthreads();
  const std::uint64_t at_a0 = descriptor<2>(a0), at_a1 = descriptor<2>(a1), at_b = descriptor<2>(b);
  typename Type::Word d[elements];
#pragma unroll
  for (unsigned i = 0; i < elements; ++i) d[i] = static_cast<typename Type::Word>(tensor::first(threadIdx.x, i));

  const BlockClock clock(true);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
  for (std::uint32_t repeat = 0; repeat < tiles.repeats; ++repeat) {
#pragma unroll
    for (unsigned pair = 0; pair < tensor::pairs_of(Operation::wgmma); ++pair) {
      Type::multiply(d, at_a0, at_b);
      Type::multiply(d, at_a1, at_b);
    }
    // One group of products is under way while the next is handed over.
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  clock.write(records, launch);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  Type::multiply(d, at_a0, at_b);
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");

  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned i = 0; i < elements; ++i) sum += tensor::weight(i) * static_cast<std::uint32_t>(static_cast<int>(d[i]));
  tiles.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
#else
  (void)tiles, (void)records, (void)launch;
  __trap();  // refuses_question() keeps this away from other devices
#endif
}

}  // namespace

WgmmaKernel wgmma_kernel(DataType type) {
  switch (type) {
    case DataType::fp16: return multiply_groups<Fp16>;
    case DataType::bf16: return multiply_groups<Bf16>;
    case DataType::tf32: return multiply_groups<Tf32>;
    case DataType::fp8: return multiply_groups<Fp8>;
    case DataType::int8: return multiply_groups<Int8>;
    default: return nullptr;
  }
}

}  // namespace npgpu::cuda
