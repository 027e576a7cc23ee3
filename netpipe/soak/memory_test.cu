// Each word is written by a kernel and read back by another one after all were written, so that what is read comes from
// memory: caches hold none of it any more but the last some ten MiB.
#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/soak/memory_test_kernels.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned blocks = 2048, threads = 512;

template <MemoryPattern pattern>
__device__ std::uint64_t word_at(std::uint64_t number, std::uint64_t index, const std::uint64_t* where) {
  const std::uint64_t bit = std::uint64_t{1} << ((index + number) & 63);
  if constexpr (pattern == MemoryPattern::walking) return bit;
  if constexpr (pattern == MemoryPattern::inverse) return ~bit;
  if constexpr (pattern == MemoryPattern::address) return reinterpret_cast<std::uint64_t>(where);
  std::uint64_t z = index + (number + 1) * 0x9E3779B97F4A7C15;  // as soak::word_of()
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Two words at a time: pieces begin at 256 bytes, and have whole pairs.
template <MemoryPattern pattern>
__global__ void __launch_bounds__(threads)
    write_pattern(std::uint64_t number, std::uint64_t* memory, std::uint64_t words, std::uint64_t first) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x * 2;
  for (std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * 2; i < words; i += step) {
    ulonglong2 pair;
    pair.x = word_at<pattern>(number, first + i, memory + i);
    pair.y = word_at<pattern>(number, first + i + 1, memory + i + 1);
    *reinterpret_cast<ulonglong2*>(memory + i) = pair;
  }
}

__device__ void note_wrong(const std::uint64_t* where, std::uint64_t expected, std::uint64_t found, WrongWords* wrong) {
  const unsigned long long slot = atomicAdd(&wrong->count, 1ull);
  if (slot >= WrongWords::most) return;
  wrong->words[slot] = {reinterpret_cast<std::uint64_t>(where), expected, found,
                        *static_cast<const volatile std::uint64_t*>(where)};
}

template <MemoryPattern pattern>
__global__ void __launch_bounds__(threads)
    compare_pattern(std::uint64_t number, const std::uint64_t* memory, std::uint64_t words, std::uint64_t first,
                    WrongWords* wrong) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x * 2;
  for (std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * 2; i < words; i += step) {
    const ulonglong2 pair = __ldcg(reinterpret_cast<const ulonglong2*>(memory + i));
    const std::uint64_t x = word_at<pattern>(number, first + i, memory + i);
    const std::uint64_t y = word_at<pattern>(number, first + i + 1, memory + i + 1);
    if (pair.x != x) note_wrong(memory + i, x, pair.x, wrong);
    if (pair.y != y) note_wrong(memory + i + 1, y, pair.y, wrong);
  }
}

// Calls launch.operator()<pattern>().
template <class Launch> void of_pattern(MemoryPattern pattern, Launch launch) {
  switch (pattern) {
    case MemoryPattern::walking: launch.template operator()<MemoryPattern::walking>(); break;
    case MemoryPattern::inverse: launch.template operator()<MemoryPattern::inverse>(); break;
    case MemoryPattern::address: launch.template operator()<MemoryPattern::address>(); break;
    default: launch.template operator()<MemoryPattern::random>(); break;
  }
  check(cudaGetLastError(), "launching a kernel of the memory test");
}

}  // namespace

void write_words(MemoryPattern pattern, std::uint64_t number, void* memory, std::uint64_t words, std::uint64_t first,
                 cudaStream_t stream) {
  of_pattern(pattern, [&]<MemoryPattern p>() {
    write_pattern<p><<<blocks, threads, 0, stream>>>(number, static_cast<std::uint64_t*>(memory), words, first);
  });
}

void compare_words(MemoryPattern pattern, std::uint64_t number, const void* memory, std::uint64_t words,
                   std::uint64_t first, WrongWords* wrong, cudaStream_t stream) {
  of_pattern(pattern, [&]<MemoryPattern p>() {
    compare_pattern<p>
        <<<blocks, threads, 0, stream>>>(number, static_cast<const std::uint64_t*>(memory), words, first, wrong);
  });
}

}  // namespace npgpu::cuda
