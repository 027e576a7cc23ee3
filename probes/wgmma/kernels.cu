// wgmma belongs to the architecture sm_90a and to no later one, so this file is compiled for that one alone.
#include <cuda_fp16.h>

#include "probes/cuda.hpp"
#include "probes/tensor/wgmma_operands.cuh"
#include "probes/wgmma/kernels.hpp"

namespace npgpu::cuda {

namespace {

using wgmma::group_threads, wgmma::most_groups;

// A of a product: in shared memory, or what a lane holds of it, by the PTX ISA's figures: of the rows lane / 4 and
// lane / 4 + 8 of a warp's 16 the words lane % 4 and lane % 4 + 4, of 8.
struct InShared {
  std::uint64_t at;
  static __device__ InShared load(const char* tile, const void*) { return {descriptor<2>(tile)}; }
};
struct InRegisters {
  std::uint32_t of[4];
  static __device__ InRegisters load(const char*, const void* rows) {
    const unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * tensor::warp_rows + lane / 4, i = lane % 4;
    const auto word = [&](unsigned r, unsigned w) { return static_cast<const std::uint32_t*>(rows)[r * 8 + w]; };
    return {{word(row, i), word(row + 8, i), word(row, i + 4), word(row + 8, i + 4)}};
  }
};

// The first two of each four numbers are there: their places, two bits each, 0 and 1.
constexpr std::uint32_t first_two = 0x44444444;

template <Operation, DataType, unsigned n> struct Product;

// kept: "" or ".sp"; KEPT: empty or KEPT_. The settings: D is added to and, where the type has them, A and B are not
// negated and not transposed; a matrix in registers has no way to be transposed.
#define NPGPU_DENSE_INPUT
#define NPGPU_SPARSE_INPUT , "r"(first_two)
#define NPGPU_PRODUCT(operation_, type_, n_, count, c, word_, is_half, kept, KEPT, INPUT, instruction, shared, regs) \
  template <> struct Product<Operation::operation_, DataType::type_, n_> {                                           \
    using Word = word_;                                                                                              \
    static constexpr unsigned words = count, n = n_;                                                                 \
    static constexpr bool half = is_half, sparse = Operation::operation_ == Operation::wgmma_sparse;                 \
    static __device__ void multiply(Word (&d)[count], const InShared& a, std::uint64_t b) {                          \
      asm volatile("wgmma.mma_async" kept ".sync.aligned.m64n" #n_ instruction " " NPGPU_SUMS_##count                \
                   ", " NPGPU_SHARED_##KEPT##count ", " shared ";"                                                   \
                   : NPGPU_OUT_##count(c)                                                                            \
                   : "l"(a.at), "l"(b)INPUT);                                                                        \
    }                                                                                                                \
    static __device__ void multiply(Word (&d)[count], const InRegisters& a, std::uint64_t b) {                       \
      asm volatile("wgmma.mma_async" kept ".sync.aligned.m64n" #n_ instruction " " NPGPU_SUMS_##count                \
                   ", " NPGPU_REGISTERS_##KEPT##count ", " regs ";"                                                  \
                   : NPGPU_OUT_##count(c)                                                                            \
                   : "r"(a.of[0]), "r"(a.of[1]), "r"(a.of[2]), "r"(a.of[3]), "l"(b)INPUT);                           \
    }                                                                                                                \
  };

#define NPGPU_DENSE(type_, n_, count, c, word_, instruction, shared, regs) \
  NPGPU_PRODUCT(wgmma, type_, n_, count, c, word_, false, "", , NPGPU_DENSE_INPUT, instruction, shared, regs)
#define NPGPU_HALF(type_, n_, count, instruction, shared, regs)                                                       \
  NPGPU_PRODUCT(wgmma_fp16, type_, n_, count, "r", std::uint32_t, true, "", , NPGPU_DENSE_INPUT, instruction, shared, \
                regs)
#define NPGPU_SPARSE(type_, n_, count, c, word_, instruction, shared, regs)                                     \
  NPGPU_PRODUCT(wgmma_sparse, type_, n_, count, c, word_, false, ".sp", KEPT_, NPGPU_SPARSE_INPUT, instruction, \
                shared, regs)

#define NPGPU_FP16(n_, count, half_count)                                                    \
  NPGPU_DENSE(fp16, n_, count, "f", float, "k16.f32.f16.f16", "1, 1, 1, 0, 0", "1, 1, 1, 0") \
  NPGPU_HALF(fp16, n_, half_count, "k16.f16.f16.f16", "1, 1, 1, 0, 0", "1, 1, 1, 0")         \
  NPGPU_SPARSE(fp16, n_, count, "f", float, "k32.f32.f16.f16", "1, 1, 1, 0, 0", "1, 1, 1, 0")
#define NPGPU_OTHERS(n_, count, half_count)                                                    \
  NPGPU_DENSE(bf16, n_, count, "f", float, "k16.f32.bf16.bf16", "1, 1, 1, 0, 0", "1, 1, 1, 0") \
  NPGPU_DENSE(tf32, n_, count, "f", float, "k8.f32.tf32.tf32", "1, 1, 1", "1, 1, 1")           \
  NPGPU_DENSE(fp8, n_, count, "f", float, "k32.f32.e4m3.e4m3", "1, 1, 1", "1, 1, 1")           \
  NPGPU_DENSE(int8, n_, count, "r", int, "k32.s32.s8.s8", "1", "1")                            \
  NPGPU_HALF(fp8, n_, half_count, "k32.f16.e4m3.e4m3", "1, 1, 1", "1, 1, 1")                   \
  NPGPU_SPARSE(fp8, n_, count, "f", float, "k64.f32.e4m3.e4m3", "1, 1, 1", "1, 1, 1")          \
  NPGPU_SPARSE(int8, n_, count, "r", int, "k64.s32.s8.s8", "1", "1")

NPGPU_FP16(8, 4, 2)
NPGPU_FP16(16, 8, 4)
NPGPU_FP16(32, 16, 8)
NPGPU_FP16(64, 32, 16)
NPGPU_FP16(128, 64, 32)
NPGPU_FP16(256, 128, 64)
NPGPU_OTHERS(64, 32, 16)
NPGPU_OTHERS(256, 128, 64)

// A word of sums: one number, or two of fp16.
template <class P> __device__ typename P::Word first_word(unsigned i) {
  if constexpr (P::half) {
    const __half2 both = __floats2half2_rn(static_cast<float>(tensor::first(threadIdx.x, 2 * i)),
                                           static_cast<float>(tensor::first(threadIdx.x, 2 * i + 1)));
    return *reinterpret_cast<const std::uint32_t*>(&both);
  } else {
    return static_cast<typename P::Word>(tensor::first(threadIdx.x, i));
  }
}
template <class P> __device__ std::uint32_t weighed(typename P::Word word, unsigned i) {
  const auto of = [](unsigned element, int value) {
    return tensor::weight(element) * static_cast<std::uint32_t>(value);
  };
  if constexpr (P::half) {
    const __half2 both = *reinterpret_cast<const __half2*>(&word);
    return of(2 * i, static_cast<int>(__low2float(both))) + of(2 * i + 1, static_cast<int>(__high2float(both)));
  } else {
    return of(i, static_cast<int>(word));
  }
}

// Each warp group multiplies the same tiles, into elements of its own.
template <class P, class A, bool waits>
__global__ void __launch_bounds__(most_groups* group_threads, 1)
    multiply_columns(GroupTiles tiles, BlockRecord* records, std::uint32_t launch) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr unsigned parts = P::sparse ? 4 : 2;  // of a column of B, 16 bytes each
  __shared__ alignas(128) char a_tile[wgmma::rows * 2 * part_bytes], minus_a_tile[wgmma::rows * 2 * part_bytes];
  __shared__ alignas(128) char b_tile[P::n * parts * part_bytes];
  copy_tile<2>(a_tile, tiles.a, wgmma::rows);
  copy_tile<2>(minus_a_tile, tiles.minus_a, wgmma::rows);
  copy_tile<parts>(b_tile, tiles.b, P::n);
  asm volatile("fence.proxy.async;" ::: "memory");  // what threads wrote, before the tensor cores read it
  __syncthreads();
  const A a = A::load(a_tile, tiles.a), minus_a = A::load(minus_a_tile, tiles.minus_a);
  const std::uint64_t b = descriptor<parts>(b_tile);
  typename P::Word d[P::words];
#pragma unroll
  for (unsigned i = 0; i < P::words; ++i) d[i] = first_word<P>(i);

  const auto repeat = [&](const A& by) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (unsigned product = 0; product < wgmma::products; ++product) {
      P::multiply(d, by, b);
      if constexpr (waits)
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    // One group of products is under way while the next is handed over.
    if constexpr (!waits)
      asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 1;" ::: "memory");
  };
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t pair = 0; pair < tiles.repeats / 2; ++pair) {
    repeat(a);
    repeat(minus_a);
  }
  if (tiles.repeats % 2) repeat(a);
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  clock.write(records, launch);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  P::multiply(d, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");

  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned i = 0; i < P::words; ++i) sum += weighed<P>(d[i], i);
  tiles.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
#else
  (void)tiles, (void)records, (void)launch;
  __trap();  // refuses_question() keeps this away from other devices
#endif
}

template <class P> GroupKernel by_case(const ProbeCase& c) {
  const bool waits = c.form == Form::dependent;
  if (c.space == Space::registers)
    return waits ? multiply_columns<P, InRegisters, true> : multiply_columns<P, InRegisters, false>;
  return waits ? multiply_columns<P, InShared, true> : multiply_columns<P, InShared, false>;
}

template <Operation operation, DataType type> GroupKernel by_columns(const ProbeCase& c, std::uint32_t columns) {
  if constexpr (type == DataType::fp16) switch (columns) {
      case 8: return by_case<Product<operation, type, 8>>(c);
      case 16: return by_case<Product<operation, type, 16>>(c);
      case 32: return by_case<Product<operation, type, 32>>(c);
      case 128: return by_case<Product<operation, type, 128>>(c);
      default: break;
    }
  return columns == 64    ? by_case<Product<operation, type, 64>>(c)
         : columns == 256 ? by_case<Product<operation, type, 256>>(c)
                          : nullptr;
}

template <Operation operation> GroupKernel by_type(const ProbeCase& c, std::uint32_t columns) {
  constexpr bool dense = operation == Operation::wgmma, half = operation == Operation::wgmma_fp16;
  if (c.type == DataType::fp16) return by_columns<operation, DataType::fp16>(c, columns);
  if (c.type == DataType::fp8) return by_columns<operation, DataType::fp8>(c, columns);
  if constexpr (!half)
    if (c.type == DataType::int8) return by_columns<operation, DataType::int8>(c, columns);
  if constexpr (dense) {
    if (c.type == DataType::bf16) return by_columns<operation, DataType::bf16>(c, columns);
    if (c.type == DataType::tf32) return by_columns<operation, DataType::tf32>(c, columns);
  }
  return nullptr;
}

}  // namespace

GroupKernel group_kernel(const ProbeCase& c, std::uint32_t columns) {
  switch (c.operation) {
    case Operation::wgmma: return by_type<Operation::wgmma>(c, columns);
    case Operation::wgmma_fp16: return by_type<Operation::wgmma_fp16>(c, columns);
    case Operation::wgmma_sparse: return by_type<Operation::wgmma_sparse>(c, columns);
    default: return nullptr;
  }
}

}  // namespace npgpu::cuda
