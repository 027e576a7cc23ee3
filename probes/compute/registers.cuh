// What a register of each type holds, its multiply-add, and what the kernels of the compute probe are given. Device
// code.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "probes/cuda.hpp"

namespace npgpu::cuda {

using Bits = unsigned long long;

// A type's register, how many elements are in it, and how far it counts exactly.
template <class W, int n, std::uint64_t count> struct Register {
  using Word = W;
  static constexpr int elements = n;
  static constexpr std::uint64_t counts_to = count;
  static __device__ Word of(long long v) { return static_cast<Word>(v); }
  static __device__ Bits bits(Word x) { return x; }
};
// One a type, with its multiply-add.
struct Fp32 : Register<float, 1, 1u << 24> {
  static __device__ Bits bits(Word x) { return __float_as_uint(x); }
  static __device__ void step(Word& x, Word a) { asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a)); }
};
struct Fp64 : Register<double, 1, 1ull << 53> {
  static __device__ Bits bits(Word x) { return static_cast<Bits>(__double_as_longlong(x)); }
  static __device__ void step(Word& x, Word a) { asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(x) : "d"(a)); }
};
struct Int32 : Register<unsigned, 1, ~0ull> {  // counts modulo 2^32, exactly
  static __device__ void step(Word& x, Word a) { asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(a)); }
};
struct Fp16 : Register<unsigned, 2, 0> {
  static __device__ Word of(long long v) {
    const __half2 pair = __floats2half2_rn(static_cast<float>(v), static_cast<float>(v));
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  static __device__ void step(Word& x, Word a) { asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(a)); }
};
struct Bf16 : Register<unsigned, 2, 0> {
  static __device__ Word of(long long v) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(static_cast<float>(v), static_cast<float>(v));
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  static __device__ void step(Word& x, Word a) {
#if __CUDA_ARCH__ >= 800
    asm volatile("fma.rn.bf16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(a));
#else
    (void)x, (void)a;
    __trap();  // refuses() keeps this away from older devices
#endif
  }
};

struct Run {
  int a;  // 1 or -1; 0 of operands that are zeros
  unsigned rounds;
  Bits* results;  // one a thread: the exclusive or of its chains
  BlockRecord* records;
  std::uint32_t launch;
};

}  // namespace npgpu::cuda
