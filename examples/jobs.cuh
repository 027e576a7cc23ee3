// The jobs of streams.cu: kernels that differ in how much goes in and out, and what each must leave.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <numeric>

namespace example {

using Word = std::uint32_t;

// Of a block: as many as in the kernels from whose times a trace knows how blocks share a multiprocessor.
constexpr unsigned threads = 512;

// x becomes a x + c, `count` times: as long as wanted on the device, and one a x + c (modulo 2^32) for who checks it.
struct Steps {
  Word a, c;
  unsigned count;
  Steps at_once() const {
    Steps all{1, 0, 1};
    for (unsigned i = 0; i < count; ++i) all = {all.a * a, all.c * a + c, 1};
    return all;
  }
  __host__ __device__ Word operator()(Word x) const {
    for (unsigned i = 0; i < count; ++i) x = a * x + c;
    return x;
  }
};

// A word out for each word in.
static __global__ void map(const Word* in, Word* out, Steps steps) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  out[i] = steps(in[i]);
}
inline Word mapped(const Word* in, std::size_t i, Steps steps) { return steps(in[i]); }

// A word out for each block's words in: their sum.
static __global__ void reduce(const Word* in, Word* out, Steps steps) {
  __shared__ Word sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, steps(in[std::size_t{blockIdx.x} * threads + threadIdx.x]));
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
inline Word reduced(const Word* in, std::size_t i, Steps steps) {
  return std::accumulate(in + i * threads, in + (i + 1) * threads, Word{0},
                         [&](Word sum, Word x) { return sum + steps(x); });
}

// A block's words out for each word in.
static __global__ void expand(const Word* in, Word* out, Steps steps) {
  out[std::size_t{blockIdx.x} * threads + threadIdx.x] = steps(in[blockIdx.x] + threadIdx.x);
}
inline Word expanded(const Word* in, std::size_t i, Steps steps) { return steps(in[i / threads] + Word(i % threads)); }

struct Work {
  const char* name;
  void (*kernel)(const Word*, Word*, Steps);
  Word (*expected)(const Word* in, std::size_t word_out, Steps);
  std::size_t blocks, words_in, words_out;  // words of one block
  unsigned steps;
};
constexpr Work works[] = {
    {"map", map, mapped, 32768, threads, threads, 1024},
    {"reduce", reduce, reduced, 65536, threads, 1, 512},
    {"expand", expand, expanded, 65536, 1, threads, 2048},
};

}  // namespace example
