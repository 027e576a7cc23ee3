// One instruction set's loops, written with the compiler's vector types. Each instruction set's file includes this
// after it has defined
//   NPGPU_ISA             its name here: scalar, avx2, ...
//   NPGPU_TARGET          the target attribute; nothing else where this build's architecture does not have it
//   NPGPU_REGISTER        the asm constraint of a floating-point or vector register
//   NPGPU_REGISTER_BYTES  0: scalars
//   NPGPU_MAX_ILP, NPGPU_MAX_ILP_INT  chains that fit the registers
// and is compiled with -ffp-contract=fast, so that x * a + b is one instruction where there is one.
#pragma once

#include <cstdint>

#include "probes/bandwidth/loops.hpp"

#ifdef NPGPU_TARGET
#define NPGPU_INLINE NPGPU_TARGET __attribute__((always_inline)) inline

#include "probes/bandwidth/loop.hpp"
#include "probes/compute/chain_loop.hpp"

namespace npgpu {
namespace {

template <class T, unsigned bytes> struct Register {
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef T Unaligned __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
  static constexpr unsigned lanes = bytes / sizeof(T);
  NPGPU_INLINE static Vector all(T v) { return v - Vector{}; }
  NPGPU_INLINE static Vector load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  NPGPU_INLINE static void store(T* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : NPGPU_REGISTER(v)); }
};
template <class T> struct Register<T, 0> {
  using Vector = T;
  static constexpr unsigned lanes = 1;
  NPGPU_INLINE static Vector all(T v) { return v; }
  NPGPU_INLINE static Vector load(const T* p) { return *p; }
  NPGPU_INLINE static void store(T* p, Vector v) { *p = v; }
  NPGPU_INLINE static void keep(Vector& v) {
    if constexpr (std::is_integral_v<T>) asm volatile("" : "+r"(v));
    else asm volatile("" : NPGPU_REGISTER(v));
  }
};

template <class T> struct Of : Register<T, NPGPU_REGISTER_BYTES> {
  using Scalar = T;
  using Vector = typename Register<T, NPGPU_REGISTER_BYTES>::Vector;
  static constexpr unsigned max_ilp = std::is_integral_v<T> ? NPGPU_MAX_ILP_INT : NPGPU_MAX_ILP;
  NPGPU_INLINE static Vector add(Vector x, Vector y) { return x + y; }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return x * a + b; }
};

chains::Chains chains_of(DataType type, unsigned ilp) {
  if (type == DataType::fp32) return chains_of<Of<float>>(ilp);
  if (type == DataType::fp64) return chains_of<Of<double>>(ilp);
  if (type == DataType::int32) return chains_of<Of<std::uint32_t>>(ilp);  // unsigned, because it is meant to wrap
  return {};
}
loops::Loop loop_of(Operation operation, unsigned ilp) { return loop_of<Of<double>>(operation, ilp); }

}  // namespace

const simd::Code simd::NPGPU_ISA{chains_of, loop_of};

}  // namespace npgpu
#else
const npgpu::simd::Code npgpu::simd::NPGPU_ISA{[](DataType, unsigned) { return chains::Chains{}; },
                                               [](Operation, unsigned) -> loops::Loop { return nullptr; }};
#endif
