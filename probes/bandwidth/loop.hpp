// The loops of the bandwidth probe, written once; see chain_loop.hpp for what V gives, and add(x, y) in addition.
// `keep` on every value that was loaded or is to be stored makes each access one instruction of V's width: the compiler
// can neither widen nor join nor drop it.
#pragma once

#include "probes/bandwidth/loops.hpp"

namespace npgpu {
namespace {

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
