// 256-bit registers, 16 of them: 14 chains beside a and b.
#include "probes/host/simd.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define NPGPU_TARGET __attribute__((target("avx2,fma")))
#include "probes/compute/chain_loop.hpp"
#include "probes/bandwidth/loop.hpp"

namespace npgpu {
namespace {

struct Fp32 {
  using Scalar = float;
  using Vector = __m256;
  static constexpr unsigned lanes = 8, max_ilp = 14;
  NPGPU_INLINE static Vector all(Scalar v) { return _mm256_set1_ps(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return _mm256_loadu_ps(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { _mm256_storeu_ps(p, v); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return _mm256_fmadd_ps(x, a, b); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+x"(v)); }
};

struct Fp64 {
  using Scalar = double;
  using Vector = __m256d;
  static constexpr unsigned lanes = 4, max_ilp = 14;
  NPGPU_INLINE static Vector all(Scalar v) { return _mm256_set1_pd(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return _mm256_loadu_pd(p); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { _mm256_storeu_pd(p, v); }
  NPGPU_INLINE static Vector add(Vector x, Vector y) { return _mm256_add_pd(x, y); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return _mm256_fmadd_pd(x, a, b); }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+x"(v)); }
};

struct Int32 {
  using Scalar = std::int32_t;
  using Vector = __m256i;
  static constexpr unsigned lanes = 8, max_ilp = 14;
  NPGPU_INLINE static Vector all(Scalar v) { return _mm256_set1_epi32(v); }
  NPGPU_INLINE static Vector load(const Scalar* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) {
    return _mm256_add_epi32(_mm256_mullo_epi32(x, a), b);
  }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+x"(v)); }
};

}  // namespace

chains::Chains simd::avx2_chains(DataType type, unsigned ilp) {
  if (type == DataType::fp32) return chains_of<Fp32>(ilp);
  if (type == DataType::fp64) return chains_of<Fp64>(ilp);
  if (type == DataType::int32) return chains_of<Int32>(ilp);
  return {};
}

loops::Loop simd::avx2_loop(Operation operation, unsigned ilp) { return loop_of<Fp64>(operation, ilp); }

}  // namespace npgpu
#else
namespace npgpu {
chains::Chains simd::avx2_chains(DataType, unsigned) { return {}; }
loops::Loop simd::avx2_loop(Operation, unsigned) { return nullptr; }
}  // namespace npgpu
#endif
