// wgmma belongs to the architecture sm_90a and to no later one, so this file is compiled for that one alone.
#include "probes/cuda.hpp"
#include "probes/tensor/wgmma.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned group_threads = 128, row_bytes = 32, elements = tensor::columns / 2;  // elements: of D, of a thread

// Where half a row lies in shared memory: of each eight rows first all first halves, 16 bytes each, then the second
// ones. Eight halves are 128 bytes, one pass of the banks, so that nothing needs to be swizzled.
__device__ unsigned place(unsigned row, unsigned half) { return (row / 8 * 2 + half) * 128 + row % 8 * 16; }

// How wgmma is told of such a tile (PTX ISA, matrix descriptors); addresses and distances are in units of 16 bytes.
__device__ std::uint64_t descriptor(const char* tile) {
  constexpr std::uint64_t to_second_half = 128 / 16, to_next_rows = 256 / 16;
  const std::uint64_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3ffff) / 16 | to_second_half << 16 | to_next_rows << 32;
}

__device__ void copy_tile(char* to, const void* from, unsigned rows) {
  for (unsigned i = threadIdx.x; i < 2 * rows; i += blockDim.x)
    *reinterpret_cast<uint4*>(to + place(i / 2, i % 2)) = static_cast<const uint4*>(from)[i];
}

#define NPGPU_EIGHT(c, i)                                                                                            \
  "+" c(d[i]), "+" c(d[i + 1]), "+" c(d[i + 2]), "+" c(d[i + 3]), "+" c(d[i + 4]), "+" c(d[i + 5]), "+" c(d[i + 6]), \
      "+" c(d[i + 7])
#define NPGPU_ALL(c)                                                                                        \
  NPGPU_EIGHT(c, 0), NPGPU_EIGHT(c, 8), NPGPU_EIGHT(c, 16), NPGPU_EIGHT(c, 24), NPGPU_EIGHT(c, 32),         \
      NPGPU_EIGHT(c, 40), NPGPU_EIGHT(c, 48), NPGPU_EIGHT(c, 56), NPGPU_EIGHT(c, 64), NPGPU_EIGHT(c, 72),   \
      NPGPU_EIGHT(c, 80), NPGPU_EIGHT(c, 88), NPGPU_EIGHT(c, 96), NPGPU_EIGHT(c, 104), NPGPU_EIGHT(c, 112), \
      NPGPU_EIGHT(c, 120)
#define NPGPU_NUMBERS                                                                            \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                      \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "

// D += A * B. The settings: D is added to, and, where the type has them, A and B are not negated and not transposed.
#define NPGPU_WGMMA(instruction, c, settings)                                                            \
  asm volatile("wgmma.mma_async.sync.aligned." instruction " " NPGPU_NUMBERS "%128, %129, " settings ";" \
               : NPGPU_ALL(c)                                                                            \
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
  copy_tile(a0, tiles.a0, tensor::group_rows);
  copy_tile(a1, tiles.a1, tensor::group_rows);
  copy_tile(b, tiles.b, tensor::columns);
  asm volatile("fence.proxy.async;" ::: "memory");  // what threads wrote, before the tensor cores read it
  __syncthreads();
  const std::uint64_t at_a0 = descriptor(a0), at_a1 = descriptor(a1), at_b = descriptor(b);
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
