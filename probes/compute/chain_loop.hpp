// The hot loop of the compute probe, written once; probes/host/simd_isa.hpp includes it. Of V it takes Scalar, Vector,
// lanes and max_ilp; all(Scalar), load(p), store(p, v), step(x, a, b) and keep(v), an empty asm that holds v in a
// register, so that the compiler can neither fold two steps nor join two chains.
// Recursion over templates unrolls under any compiler and leaves no array that could end up in memory.
#pragma once

#include "probes/compute/chains.hpp"

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

}  // namespace
}  // namespace npgpu
