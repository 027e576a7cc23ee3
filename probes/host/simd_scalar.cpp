// One element an instruction. On x86 the instruction is FMA3's, which has 16 registers: 14 chains beside a and b.
#include <cstdint>

#include "probes/host/simd.hpp"

#if defined(__x86_64__)
#define NPGPU_TARGET __attribute__((target("fma")))
#define NPGPU_FLOAT_REGISTER "+x"
#else
#define NPGPU_TARGET
#define NPGPU_FLOAT_REGISTER "+w"
#endif

#include "probes/compute/chain_loop.hpp"
#include "probes/bandwidth/loop.hpp"

namespace npgpu {
#if defined(__x86_64__) || defined(__aarch64__)
namespace {

template <class T>
struct Real {
  using Scalar = T;
  using Vector = T;
  static constexpr unsigned lanes = 1, max_ilp = 14;
  NPGPU_INLINE static Vector all(T v) { return v; }
  NPGPU_INLINE static Vector load(const T* p) { return *p; }
  NPGPU_INLINE static void store(T* p, Vector v) { *p = v; }
  NPGPU_INLINE static Vector add(Vector x, Vector y) { return x + y; }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) {
    if constexpr (sizeof(T) == 4)
      return __builtin_fmaf(x, a, b);
    else
      return __builtin_fma(x, a, b);
  }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : NPGPU_FLOAT_REGISTER(v)); }
};

// Unsigned, because it is meant to wrap. Of 16 registers, one is the stack's and one counts; a and b take two.
struct Integer {
  using Scalar = std::uint32_t;
  using Vector = std::uint32_t;
  static constexpr unsigned lanes = 1, max_ilp = 10;
  NPGPU_INLINE static Vector all(Scalar v) { return v; }
  NPGPU_INLINE static Vector load(const Scalar* p) { return *p; }
  NPGPU_INLINE static void store(Scalar* p, Vector v) { *p = v; }
  NPGPU_INLINE static Vector step(Vector x, Vector a, Vector b) { return x * a + b; }
  NPGPU_INLINE static void keep(Vector& v) { asm volatile("" : "+r"(v)); }
};

}  // namespace

chains::Chains simd::scalar_chains(DataType type, unsigned ilp) {
  if (type == DataType::fp32) return chains_of<Real<float>>(ilp);
  if (type == DataType::fp64) return chains_of<Real<double>>(ilp);
  if (type == DataType::int32) return chains_of<Integer>(ilp);
  return {};
}

loops::Loop simd::scalar_loop(Operation operation, unsigned ilp) { return loop_of<Real<double>>(operation, ilp); }
#else
chains::Chains simd::scalar_chains(DataType, unsigned) { return {}; }
loops::Loop simd::scalar_loop(Operation, unsigned) { return nullptr; }
#endif

}  // namespace npgpu
