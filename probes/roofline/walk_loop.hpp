// The loops of the host's roofline probe, written once; see chain_loop.hpp for what V gives. Vectors have names of
// their own, so that none of them ends up in memory.
#pragma once

#include "probes/roofline/walks.hpp"

namespace npgpu {
namespace {

template <class V> struct EightChains {
  typename V::Vector x0, x1, x2, x3, x4, x5, x6, x7;
  NPGPU_INLINE void begin() {
    x0 = all(0), x1 = all(1), x2 = all(2), x3 = all(3), x4 = all(4), x5 = all(5), x6 = all(6), x7 = all(7);
  }
  NPGPU_INLINE static typename V::Vector all(unsigned chain) {
    return V::all(static_cast<typename V::Scalar>(walks::start(chain)));
  }
  NPGPU_INLINE static void take(typename V::Vector& x, typename V::Vector v) {
    x = V::step(x, v, v);
    V::keep(x);
  }
  NPGPU_INLINE void store(typename V::Scalar* to) const {
    V::store(to, x0), V::store(to + V::lanes, x1), V::store(to + 2 * V::lanes, x2), V::store(to + 3 * V::lanes, x3);
    V::store(to + 4 * V::lanes, x4), V::store(to + 5 * V::lanes, x5), V::store(to + 6 * V::lanes, x6);
    V::store(to + 7 * V::lanes, x7);
  }
};

template <class V> NPGPU_INLINE typename V::Vector kept(const typename V::Scalar* at) {
  auto v = V::load(at);
  V::keep(v);
  return v;
}

// Each of the first `taken` vectors by a chain, once.
template <class V, unsigned taken> NPGPU_TARGET void walk_once(walks::Part& part, unsigned, std::uint64_t passes) {
  using Scalar = typename V::Scalar;
  const auto* const begin = static_cast<const Scalar*>(part.elements);
  const auto* const end = begin + part.bytes / sizeof(Scalar);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    EightChains<V> c;
    c.begin();
    for (const Scalar* at = begin; at < end; at += walks::vectors_of_step * V::lanes) {
      const auto v0 = kept<V>(at), v1 = kept<V>(at + V::lanes), v2 = kept<V>(at + 2 * V::lanes),
                 v3 = kept<V>(at + 3 * V::lanes);
      c.take(c.x0, v0);
      if constexpr (taken > 1) c.take(c.x1, v1);
      if constexpr (taken > 2) c.take(c.x2, v2), c.take(c.x3, v3);
      const auto v4 = kept<V>(at + 4 * V::lanes), v5 = kept<V>(at + 5 * V::lanes), v6 = kept<V>(at + 6 * V::lanes),
                 v7 = kept<V>(at + 7 * V::lanes);
      if constexpr (taken > 4) c.take(c.x4, v4), c.take(c.x5, v5), c.take(c.x6, v6), c.take(c.x7, v7);
    }
    c.store(reinterpret_cast<Scalar*>(part.chains));
    asm volatile("" ::: "memory");  // one pass is over before the next begins
  }
}

// Four vectors at a time, each by two chains: with these, eight chains fit sixteen registers.
template <class V> NPGPU_TARGET void walk_often(walks::Part& part, unsigned times, std::uint64_t passes) {
  using Scalar = typename V::Scalar;
  const auto* const begin = static_cast<const Scalar*>(part.elements);
  const auto* const end = begin + part.bytes / sizeof(Scalar);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    EightChains<V> c;
    c.begin();
    for (const Scalar* at = begin; at < end; at += 4 * V::lanes) {
      const auto v0 = kept<V>(at), v1 = kept<V>(at + V::lanes), v2 = kept<V>(at + 2 * V::lanes),
                 v3 = kept<V>(at + 3 * V::lanes);
      for (unsigned left = times; left; --left) {
        c.take(c.x0, v0), c.take(c.x1, v1), c.take(c.x2, v2), c.take(c.x3, v3);
        c.take(c.x4, v0), c.take(c.x5, v1), c.take(c.x6, v2), c.take(c.x7, v3);
      }
    }
    c.store(reinterpret_cast<Scalar*>(part.chains));
    asm volatile("" ::: "memory");
  }
}

template <class V> walks::Walk walk_of(const walks::Work& work) {
  if (work.times) return walk_often<V>;
  switch (work.taken) {
    case 1: return walk_once<V, 1>;
    case 2: return walk_once<V, 2>;
    case 4: return walk_once<V, 4>;
    case 8: return walk_once<V, 8>;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace npgpu
