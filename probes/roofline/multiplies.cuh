// Multiply-adds of all lanes on elements that are read: what a thread does with a step's words. Device code.
#pragma once

#include "probes/compute/registers.cuh"
#include "probes/roofline/stream.cuh"

namespace npgpu::cuda::rooflines {

namespace {

using roofline::chains;

__device__ void add(float& x, float v, float one) {
  asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(x) : "f"(v), "f"(one));
}
__device__ void add(double& x, double v, double one) {
  asm volatile("fma.rn.f64 %0, %1, %2, %0;" : "+d"(x) : "d"(v), "d"(one));
}

struct Fp32Elements : Fp32 {
  static constexpr unsigned of_access = 4;
  static __device__ void take(float* to, const uint4& from) {
    to[0] = __uint_as_float(from.x);
    to[1] = __uint_as_float(from.y);
    to[2] = __uint_as_float(from.z);
    to[3] = __uint_as_float(from.w);
  }
  static __device__ std::uint32_t words(float v) { return __float_as_uint(v); }
};
struct Fp64Elements : Fp64 {
  static constexpr unsigned of_access = 2;
  static __device__ void take(double* to, const uint4& from) {
    to[0] = __hiloint2double(static_cast<int>(from.y), static_cast<int>(from.x));
    to[1] = __hiloint2double(static_cast<int>(from.w), static_cast<int>(from.z));
  }
  static __device__ std::uint32_t words(double v) {
    return static_cast<std::uint32_t>(__double2hiint(v)) + static_cast<std::uint32_t>(__double2loint(v));
  }
};

template <class Type, std::uint32_t operations, bool in_rounds = false> struct Multiplies {
  static constexpr unsigned elements = accesses * Type::of_access;
  typename Type::Word x[chains], one;
  std::uint32_t added = 0;

  __device__ void begin(const Run& run) {
    one = static_cast<typename Type::Word>(run.one);
#pragma unroll
    for (unsigned i = 0; i < chains; ++i) x[i] = Type::of(roofline::first(threadIdx.x, i));
  }
  __device__ void step(const Words& words, const Run& run) {
    typename Type::Word v[elements];
#pragma unroll
    for (unsigned i = 0; i < accesses; ++i) Type::take(v + i * Type::of_access, words[i]);
    if constexpr (operations <= elements) {
#pragma unroll
      for (unsigned i = 0; i < operations; ++i) add(x[i % chains], v[i], one);
#pragma unroll
      for (unsigned i = operations; i < elements; ++i) added += Type::words(v[i]);
    } else if constexpr (!in_rounds) {
      each_chain(v);
    } else {
#pragma unroll 1
      for (std::uint32_t round = 0; round < run.rounds; ++round) each_chain(v);
    }
  }
  __device__ void each_chain(const typename Type::Word (&v)[elements]) {
#pragma unroll
    for (unsigned group = 0; group < elements; group += chains) {
#pragma unroll
      for (unsigned time = 0; time < operations / elements; ++time) {
#pragma unroll
        for (unsigned i = 0; i < chains; ++i) Type::step(x[i], v[group + i]);
      }
    }
  }
  __device__ roofline::Total total() const {
    roofline::Total all{0, added};
#pragma unroll
    for (unsigned i = 0; i < chains; ++i) all.weighted += roofline::weight(i) * static_cast<long long>(x[i]);
    return all;
  }
};

}  // namespace
}  // namespace npgpu::cuda::rooflines
