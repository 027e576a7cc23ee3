// Products of tensor cores on tiles that are read: each access of a warp is a tile of A (16 rows and columns of fp16),
// which B's in registers multiply. Device code.
#pragma once

#include <cuda_fp16.h>

#include "probes/roofline/stream.cuh"

namespace npgpu::cuda::rooflines {

namespace {

using roofline::tiles;

struct B {
  std::uint32_t of[2];
};

__device__ std::uint32_t halves(int low, int high) {
  const __half2 pair = __floats2half2_rn(static_cast<float>(low), static_cast<float>(high));
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
// A lane has two rows of B and the two that are eight further on, of one column (PTX ISA, mma.m16n8k16).
template <class Number> __device__ B load_b(Number number) {
  const std::uint32_t lane = threadIdx.x % warp, k = 2 * (lane % 4), column = lane / 4;
  return {{halves(number(k, column), number(k + 1, column)), halves(number(k + 8, column), number(k + 9, column))}};
}

__device__ void multiply(float (&d)[4], const uint4& a, const B& b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.of[0]), "r"(b.of[1]));
#else
  (void)d, (void)a, (void)b;
  __trap();  // refuses_question() keeps this away from older devices
#endif
}

template <std::uint32_t products, bool in_rounds = false> struct Products {
  float d[tiles][4];
  std::uint32_t added = 0;
  B first_b, second_b;

  __device__ void begin(const Run&) {
    first_b = load_b([](std::uint32_t k, std::uint32_t column) { return roofline::b0(k, column); });
    second_b = load_b([](std::uint32_t k, std::uint32_t column) { return roofline::b1(k, column); });
#pragma unroll
    for (unsigned tile = 0; tile < tiles; ++tile)
      for (float& one : d[tile]) one = static_cast<float>(roofline::first(threadIdx.x, tile));
  }
  __device__ void step(const Words& words, const Run& run) {
    if constexpr (products <= tiles) {
#pragma unroll
      for (unsigned tile = 0; tile < products; ++tile) multiply(d[tile], words[tile], first_b);
#pragma unroll
      for (unsigned tile = products; tile < tiles; ++tile)
        added += words[tile].x + words[tile].y + words[tile].z + words[tile].w;
    } else if constexpr (!in_rounds) {
      both(words);
    } else {
#pragma unroll 1
      for (std::uint32_t round = 0; round < run.rounds; ++round) both(words);
    }
  }
  __device__ void both(const Words& words) {
#pragma unroll
    for (unsigned pair = 0; pair < products / tiles / 2; ++pair) {
#pragma unroll
      for (unsigned tile = 0; tile < tiles; ++tile) multiply(d[tile], words[tile], first_b);
#pragma unroll
      for (unsigned tile = 0; tile < tiles; ++tile) multiply(d[tile], words[tile], second_b);
    }
  }
  __device__ roofline::Total total() const {
    roofline::Total all{0, added};
#pragma unroll
    for (unsigned tile = 0; tile < tiles; ++tile)
      for (const float one : d[tile]) all.weighted += roofline::weight(tile) * static_cast<long long>(one);
    return all;
  }
};

}  // namespace
}  // namespace npgpu::cuda::rooflines
