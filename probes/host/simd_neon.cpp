// 128-bit registers, 32 of them.
#include "probes/host/simd.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#define NPGPU_TARGET
#include "probes/compute/chain_loop.hpp"
#include "probes/bandwidth/loop.hpp"

namespace npgpu {
namespace {

struct Fp32 {
  using Scalar = float;
  using Vector = float32x4_t;
  static constexpr unsigned lanes = 4, max_ilp = 16;
  NPGPU_INLINE static Vector all(Scalar v) { return vdupq_n_f32(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return vld1q_f32(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { vst1q_f32(p, v); }
  // The instruction adds to its first operand and overwrites it: b is copied first, which is no step of the chain.
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return vfmaq_f32(b, x, a); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+w"(v)); }
};

struct Fp64 {
  using Scalar = double;
  using Vector = float64x2_t;
  static constexpr unsigned lanes = 2, max_ilp = 16;
  NPGPU_INLINE static Vector all(Scalar v) { return vdupq_n_f64(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return vld1q_f64(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { vst1q_f64(p, v); }
  NPGPU_INLINE static Vector add(Vector x, Vector y) { return vaddq_f64(x, y); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return vfmaq_f64(b, x, a); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+w"(v)); }
};

struct Int32 {
  using Scalar = std::int32_t;
  using Vector = int32x4_t;
  static constexpr unsigned lanes = 4, max_ilp = 14;
  NPGPU_INLINE static Vector all(Scalar v) { return vdupq_n_s32(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return vld1q_s32(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { vst1q_s32(p, v); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return vmlaq_s32(b, x, a); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+w"(v)); }
};

}  // namespace

chains::Chains simd::neon_chains(DataType type, unsigned ilp) {
  if (type == DataType::fp32) return chains_of<Fp32>(ilp);
  if (type == DataType::fp64) return chains_of<Fp64>(ilp);
  if (type == DataType::int32) return chains_of<Int32>(ilp);
  return {};
}

loops::Loop simd::neon_loop(Operation operation, unsigned ilp) { return loop_of<Fp64>(operation, ilp); }

}  // namespace npgpu
#else
namespace npgpu {
chains::Chains simd::neon_chains(DataType, unsigned) { return {}; }
loops::Loop simd::neon_loop(Operation, unsigned) { return nullptr; }
}  // namespace npgpu
#endif
