// What a register of each type holds, its multiply-add, and what the kernels of the compute probe are given. Device
// code.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cmath>
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

// Chains of multiply-adds on numbers without a pattern, x = x*a + a and x = x*c + c by turns, with a*c near 1: x
// neither settles nor leaves its range, whose bits change with every step. Sixteen starts are spread over all chains of
// a grid, so the host computes what each must come to; a fused multiply-add is the same everywhere (IEEE 754). Device
// code, too.
namespace npgpu::cuda::mixed {

constexpr unsigned starts = 16, ilp = 8, steps_of_round = 64;

__host__ __device__ inline std::uint32_t scattered(std::uint32_t i) {
  i = (i ^ (i >> 16)) * 0x7feb352du;
  i = (i ^ (i >> 15)) * 0x846ca68bu;
  return i ^ (i >> 16);
}
__host__ __device__ inline unsigned start_of(unsigned thread, unsigned chain) {
  return scattered(thread * ilp + chain) % starts;
}

// Both factors, and the 16 starts: within 2^17 of 0, so that the drift of a run (0.38 for two steps) hides none of
// them.
template <class Word> struct Numbers {
  Word a, c;
  Word start[starts];
};
template <class Word> Numbers<Word> numbers() {
  Numbers<Word> all{static_cast<Word>(-1.6180339887498949), static_cast<Word>(-0.6180339887498949), {}};
  for (unsigned i = 0; i < starts; ++i) all.start[i] = static_cast<Word>((scattered(i + 1) * 0x1p-32 - 0.5) * 0x1p17);
  return all;
}
template <> inline Numbers<unsigned> numbers<unsigned>() {
  Numbers<unsigned> all{0x9E3779B1u, 0x85EBCA77u, {}};
  for (unsigned i = 0; i < starts; ++i) all.start[i] = scattered(i + 1);
  return all;
}

inline float step(float x, float a) { return std::fma(x, a, a); }
inline double step(double x, double a) { return std::fma(x, a, a); }
inline unsigned step(unsigned x, unsigned a) { return x * a + a; }

// What each start comes to after so many rounds.
template <class Word> std::array<Word, starts> ends(const Numbers<Word>& numbers, std::uint64_t rounds) {
  std::array<Word, starts> x;
  for (unsigned i = 0; i < starts; ++i) x[i] = numbers.start[i];
  for (std::uint64_t pair = 0; pair < rounds * steps_of_round / 2; ++pair)
    for (Word& one : x) one = step(step(one, numbers.a), numbers.c);
  return x;
}

template <class Type> __global__ void __launch_bounds__(1024) chains(Run run, Numbers<typename Type::Word> numbers) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  typename Type::Word x[ilp];
#pragma unroll
  for (unsigned i = 0; i < ilp; ++i) x[i] = numbers.start[start_of(thread, i)];
  const BlockClock clock(true);
#pragma unroll 1
  for (unsigned round = 0; round < run.rounds; ++round) {
#pragma unroll
    for (unsigned step = 0; step < steps_of_round; ++step) {
#pragma unroll
      for (unsigned i = 0; i < ilp; ++i) Type::step(x[i], step % 2 ? numbers.c : numbers.a);
    }
  }
  clock.write(run.records, run.launch);
  Bits all = 0;
#pragma unroll
  for (unsigned i = 0; i < ilp; ++i) all ^= Type::bits(x[i]);
  run.results[thread] = all;
}

// The thread with the smallest number whose result is wrong.
template <class Type>
__global__ void check(const Bits* results, unsigned threads, Numbers<typename Type::Word> ends, unsigned* first_wrong) {
  for (unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < threads; t += gridDim.x * blockDim.x) {
    Bits all = 0;
    for (unsigned i = 0; i < ilp; ++i) all ^= Type::bits(ends.start[start_of(t, i)]);
    if (results[t] != all) atomicMin(first_wrong, t);
  }
}

}  // namespace npgpu::cuda::mixed
