// 512-bit registers, 32 of them.
#include "probes/host/simd.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define NPGPU_TARGET __attribute__((target("avx512f")))
#include "probes/compute/chain_loop.hpp"
#include "probes/bandwidth/loop.hpp"

namespace npgpu {
namespace {

struct Fp32 {
  using Scalar = float;
  using Vector = __m512;
  static constexpr unsigned lanes = 16, max_ilp = 16;
  NPGPU_INLINE static Vector all(Scalar v) { return _mm512_set1_ps(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return _mm512_loadu_ps(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { _mm512_storeu_ps(p, v); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return _mm512_fmadd_ps(x, a, b); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+v"(v)); }
};

struct Fp64 {
  using Scalar = double;
  using Vector = __m512d;
  static constexpr unsigned lanes = 8, max_ilp = 16;
  NPGPU_INLINE static Vector all(Scalar v) { return _mm512_set1_pd(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return _mm512_loadu_pd(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { _mm512_storeu_pd(p, v); }
  NPGPU_INLINE static Vector add(Vector x, Vector y) { return _mm512_add_pd(x, y); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return _mm512_fmadd_pd(x, a, b); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+v"(v)); }
};

struct Int32 {
  using Scalar = std::int32_t;
  using Vector = __m512i;
  static constexpr unsigned lanes = 16, max_ilp = 16;
  NPGPU_INLINE static Vector all(Scalar v) { return _mm512_set1_epi32(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return _mm512_loadu_si512(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { _mm512_storeu_si512(p, v); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) {
    return _mm512_add_epi32(_mm512_mullo_epi32(x, a), b);
  }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+v"(v)); }
};

}  // namespace

chains::Chains simd::avx512_chains(DataType type, unsigned ilp) {
  if (type == DataType::fp32) return chains_of<Fp32>(ilp);
  if (type == DataType::fp64) return chains_of<Fp64>(ilp);
  if (type == DataType::int32) return chains_of<Int32>(ilp);
  return {};
}

loops::Loop simd::avx512_loop(Operation operation, unsigned ilp) { return loop_of<Fp64>(operation, ilp); }

}  // namespace npgpu
#else
namespace npgpu {
chains::Chains simd::avx512_chains(DataType, unsigned) { return {}; }
loops::Loop simd::avx512_loop(Operation, unsigned) { return nullptr; }
}  // namespace npgpu
#endif
