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

// The hot loop of the compute probe, written once. Of V it takes Scalar, Vector,
// lanes and max_ilp; all(Scalar), load(p), store(p, v), step(x, a, b) and keep(v), an empty asm that holds v in a
// register, so that the compiler can neither fold two steps nor join two chains.
// Recursion over templates unrolls under any compiler and leaves no array that could end up in memory.
namespace npgpu {
namespace {

constexpr std::uint64_t steps_of_loop = 8;
static_assert(chains::steps_of_repeat % steps_of_loop == 0);

template <class V, unsigned n> struct Bundle {
  typename V::Vector x;
  Bundle<V, n - 1> rest;
  NPGPU_INLINE void load(const typename V::Scalar* p) {
    x = V::load(p);
    V::keep(x);
    rest.load(p + V::lanes);
  }
  NPGPU_INLINE void store(typename V::Scalar* p) const {
    V::store(p, x);
    rest.store(p + V::lanes);
  }
  NPGPU_INLINE void step(typename V::Vector a, typename V::Vector b) {
    x = V::step(x, a, b);
    V::keep(x);
    rest.step(a, b);
  }
};
template <class V> struct Bundle<V, 0> {
  NPGPU_INLINE void load(const typename V::Scalar*) {}
  NPGPU_INLINE void store(typename V::Scalar*) const {}
  NPGPU_INLINE void step(typename V::Vector, typename V::Vector) {}
};

template <class V, unsigned ilp>
NPGPU_TARGET void run_chains(void* state, double a0, double b0, std::uint64_t repeats) {
  using Scalar = typename V::Scalar;
  Bundle<V, ilp> bundle;
  bundle.load(static_cast<const Scalar*>(state));
  typename V::Vector a = V::all(static_cast<Scalar>(a0)), b = V::all(static_cast<Scalar>(b0));
  V::keep(a);
  V::keep(b);
  for (std::uint64_t left = repeats * (chains::steps_of_repeat / steps_of_loop); left; --left) {
    bundle.step(a, b);
    bundle.step(a, b);
    bundle.step(a, b);
    bundle.step(a, b);
    bundle.step(a, b);
    bundle.step(a, b);
    bundle.step(a, b);
    bundle.step(a, b);
  }
  bundle.store(static_cast<Scalar*>(state));
}

template <class V, std::size_t... i> chains::Chains chains_of(unsigned ilp, std::index_sequence<i...>) {
  chains::Loop loop = nullptr;
  const auto take = [&]<unsigned n>() {
    if constexpr (n <= V::max_ilp)
      if (n == ilp) loop = run_chains<V, n>;
  };
  (take.template operator()<chains::ilps[i]>(), ...);
  return {loop, loop ? V::lanes : 0};
}

template <class V> chains::Chains chains_of(unsigned ilp) {
  return chains_of<V>(ilp, std::make_index_sequence<std::size(chains::ilps)>());
}

// The loops of the bandwidth probe, written once; see above for what V gives, and add(x, y) in addition.
// `keep` on every value that was loaded or is to be stored makes each access one instruction of V's width: the compiler
// can neither widen nor join nor drop it.

template <class V> struct Rmw {
  typename V::Vector one;
  NPGPU_INLINE void pass(double) { one = V::all(1); }
  NPGPU_INLINE void access(const loops::Slice& s, std::uint64_t i) {
    auto v = V::load(s.x + i);
    V::keep(v);
    V::store(s.x + i, V::add(v, one));
  }
};

template <class V> struct Read {
  typename V::Vector sum;
  NPGPU_INLINE void pass(double) { sum = V::all(0); }
  NPGPU_INLINE void access(const loops::Slice& s, std::uint64_t i) {
    sum = V::add(sum, V::load(s.x + i));
    V::keep(sum);
  }
  NPGPU_INLINE double total() const {
    double each[V::lanes], all = 0;
    V::store(each, sum);
    for (const double one : each) all += one;
    return all;
  }
};

template <class V> struct Write {
  typename V::Vector value;
  NPGPU_INLINE void pass(double number) { value = V::all(number); }
  NPGPU_INLINE void access(const loops::Slice& s, std::uint64_t i) {
    V::keep(value);
    V::store(s.x + i, value);
  }
};

template <class V> struct Copy {
  NPGPU_INLINE void pass(double) {}
  NPGPU_INLINE void access(const loops::Slice& s, std::uint64_t i) {
    auto v = V::load(s.x + i);
    V::keep(v);
    V::store(s.y + i, v);
  }
};

template <class V> struct Triad {
  typename V::Vector three;
  NPGPU_INLINE void pass(double) { three = V::all(3); }
  NPGPU_INLINE void access(const loops::Slice& s, std::uint64_t i) {
    auto v = V::load(s.y + i);
    V::keep(v);
    auto sum = V::step(v, three, V::load(s.x + i));
    V::keep(sum);
    V::store(s.z + i, sum);
  }
};

// n accesses side by side, each with registers of its own.
template <class V, template <class> class Op, unsigned n> struct Abreast {
  Op<V> op;
  Abreast<V, Op, n - 1> rest;
  NPGPU_INLINE void pass(double number) {
    op.pass(number);
    rest.pass(number);
  }
  NPGPU_INLINE void access(const loops::Slice& s, std::uint64_t i) {
    op.access(s, i);
    rest.access(s, i + V::lanes);
  }
  NPGPU_INLINE double total() const {
    if constexpr (requires { op.total(); }) return op.total() + rest.total();
    else return 0;
  }
};
template <class V, template <class> class Op> struct Abreast<V, Op, 0> {
  NPGPU_INLINE void pass(double) {}
  NPGPU_INLINE void access(const loops::Slice&, std::uint64_t) {}
  NPGPU_INLINE double total() const { return 0; }
};

template <class V, template <class> class Op, unsigned ilp>
NPGPU_TARGET void run_loop(loops::Slice& slice, std::uint64_t before, std::uint64_t passes) {
  static_assert(loops::granularity % (V::lanes * ilp) == 0);
  const loops::Slice s = slice;  // in registers: nothing stored through it can change it
  double sum = 0;
  for (std::uint64_t pass = 1; pass <= passes; ++pass) {
    Abreast<V, Op, ilp> abreast;
    abreast.pass(static_cast<double>(before + pass));
    for (std::uint64_t i = 0; i < s.elements; i += V::lanes * ilp) abreast.access(s, i);
    sum += abreast.total();
    asm volatile("" ::: "memory");  // one pass is over before the next begins
  }
  slice.sum = sum;
}

template <class V, template <class> class Op> loops::Loop loop_of(unsigned ilp) {
  if (ilp == 1) return run_loop<V, Op, 1>;
  if (ilp == 8) return run_loop<V, Op, 8>;
  return nullptr;
}

template <class V> loops::Loop loop_of(Operation operation, unsigned ilp) {
  switch (operation) {
    case Operation::rmw: return loop_of<V, Rmw>(ilp);
    case Operation::read: return loop_of<V, Read>(ilp);
    case Operation::write: return loop_of<V, Write>(ilp);
    case Operation::copy: return loop_of<V, Copy>(ilp);
    case Operation::triad: return loop_of<V, Triad>(ilp);
    default: return nullptr;
  }
}

}  // namespace
}  // namespace npgpu

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
