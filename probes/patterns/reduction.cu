// All words of an array to one, by the steps of Harris, Optimizing Parallel Reduction in CUDA (named by Venetis), and
// by what today's hardware does best. Every rung is correct; they differ in how a block of 256 threads adds up.
//
//   1  neighbours: thread t adds its neighbour's sum if t is a multiple of 2s; the lanes of every warp part ways
//   2  the same places, by the first threads: no lanes part, but strides of 2s words meet in banks
//   3  the first half adds the second: no conflicts
//   4  each thread adds two words while it loads
//   5  the last warp goes on without barriers of the block
//   6  no loop: every pass is written out
//   7  a grid that is resident walks through the array, four words of a thread in flight
//   8  16-byte loads, four in flight, sums of a warp by shuffles
//
// Each block adds its sum to one word (an atomic). A repeat is one pass through the array; the word is cleared before
// the first only, and holds the sum of all passes modulo 2^32, which the host knows.

#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"
#include "probes/walks.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned block = patterns::rung_threads, lanes = 32;

// Lane 0's value is the sum of all.
__device__ std::uint32_t sum_of_warp(std::uint32_t sum) {
#pragma unroll
  for (unsigned offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  return sum;
}

// Thread 0's value is the sum of all.
template <int rung> __device__ std::uint32_t sum_of_block(std::uint32_t mine) {
  __shared__ std::uint32_t sums[block];
  const unsigned t = threadIdx.x;
  if constexpr (rung == 8) {
    mine = sum_of_warp(mine);
    if (t % lanes == 0) sums[t / lanes] = mine;
    __syncthreads();
    return t < lanes ? sum_of_warp(t < block / lanes ? sums[t] : 0) : 0;
  }
  sums[t] = mine;
  __syncthreads();
  if constexpr (rung == 1) {
#pragma unroll 1
    for (unsigned s = 1; s < block; s *= 2) {
      if (t % (2 * s) == 0) sums[t] += sums[t + s];
      __syncthreads();
    }
    return sums[0];
  } else if constexpr (rung == 2) {
#pragma unroll 1
    for (unsigned s = 1; s < block; s *= 2) {
      const unsigned at = 2 * s * t;
      if (at < block) sums[at] += sums[at + s];
      __syncthreads();
    }
    return sums[0];
  } else if constexpr (rung == 3 || rung == 4) {
#pragma unroll 1
    for (unsigned s = block / 2; s > 0; s /= 2) {
      if (t < s) sums[t] += sums[t + s];
      __syncthreads();
    }
    return sums[0];
  } else {
    if constexpr (rung == 5) {
#pragma unroll 1
      for (unsigned s = block / 2; s > lanes; s /= 2) {
        if (t < s) sums[t] += sums[t + s];
        __syncthreads();
      }
    } else {
#pragma unroll
      for (unsigned s = block / 2; s > lanes; s /= 2) {
        if (t < s) sums[t] += sums[t + s];
        __syncthreads();
      }
    }
    if (t >= lanes) return 0;
    std::uint32_t sum = sums[t];
#pragma unroll
    for (unsigned s = lanes; s > 0; s /= 2) {  // every lane reads before any writes, and writes before any reads
      sum += sums[t + s];
      __syncwarp();
      sums[t] = sum;
      __syncwarp();
    }
    return sum;
  }
}

template <int rung> __device__ std::uint32_t words_of_thread(const std::uint32_t* words, std::uint64_t count) {
  const std::uint64_t own = std::uint64_t{blockIdx.x} * block + threadIdx.x;
  if constexpr (rung <= 3) {
    return own < count ? words[own] : 0;
  } else if constexpr (rung <= 6) {
    const std::uint64_t at = std::uint64_t{blockIdx.x} * 2 * block + threadIdx.x;
    return (at < count ? words[at] : 0) + (at + block < count ? words[at + block] : 0);
  } else if constexpr (rung == 7) {
    const std::uint64_t apart = std::uint64_t{gridDim.x} * block;
    std::uint32_t sum = 0;
    std::uint64_t at = own;
    for (; at + 3 * apart < count; at += 4 * apart) {
      std::uint32_t x[4];
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) x[k] = words[at + k * apart];
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) sum += x[k];
    }
    for (; at < count; at += apart) sum += words[at];
    return sum;
  } else {
    const auto* const wide = reinterpret_cast<const uint4*>(words);
    const std::uint64_t all = count / 4, apart = std::uint64_t{gridDim.x} * block;
    std::uint32_t sum = 0;
    std::uint64_t at = own;
    for (; at + 3 * apart < all; at += 4 * apart) {
      uint4 x[4];
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) x[k] = __ldcs(wide + at + k * apart);
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) sum += x[k].x + x[k].y + x[k].z + x[k].w;
    }
    for (; at < all; at += apart) {
      const uint4 x = __ldcs(wide + at);
      sum += x.x + x.y + x.z + x.w;
    }
    return sum;
  }
}

template <int rung>
__global__ void __launch_bounds__(block)
    sum_words(const std::uint32_t* words, std::uint64_t count, std::uint32_t* result) {
  const std::uint32_t sum = sum_of_block<rung>(words_of_thread<rung>(words, count));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

using Kernel = void (*)(const std::uint32_t*, std::uint64_t, std::uint32_t*);
constexpr Kernel kernels[] = {sum_words<1>, sum_words<2>, sum_words<3>, sum_words<4>,
                              sum_words<5>, sum_words<6>, sum_words<7>, sum_words<8>};
static_assert(std::size(kernels) == patterns::rungs);

__global__ void fill(std::uint32_t* words, std::uint64_t count) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    words[i] = pattern_word(i);
}

class ReductionRunner final : public CudaProbeRunner {
 public:
  ReductionRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps),
        words_(Memory::device, std::max<std::uint64_t>(max_bytes(), 16)),
        result_(Memory::device, sizeof(std::uint32_t)) {
    fill<<<1024, 256, 0, stream()>>>(words(), max_bytes() / 4);
    cuda::check(cudaGetLastError(), "filling the array");
  }
  double work() const override { return static_cast<double>(shape().bytes); }

 private:
  std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(words_.data()); }
  std::uint32_t* result() const { return reinterpret_cast<std::uint32_t*>(result_.data()); }
  std::uint64_t count() const { return shape().bytes / 4; }
  void set_up() override {
    bench().gpu().make_current();
    clear();
    pass();  // the driver loads a kernel at its first launch, which no trial should wait for
    cuda::check(cudaGetLastError(), "loading a kernel");
    cuda::check(cudaStreamSynchronize(stream()), "loading a kernel");
  }
  void clear() { cuda::check(cudaMemsetAsync(result_.data(), 0, sizeof(std::uint32_t), stream()), "clearing the sum"); }
  void pass() { kernels[shape().rung - 1]<<<shape().blocks, block, 0, stream()>>>(words(), count(), result()); }
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    clear();
    passes_ = repeats;
    const auto all = [&] {
      for (std::uint64_t i = 0; i < repeats; ++i) pass();
    };
    return bench().time_launches(repeats, all);
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    std::uint32_t found = 0;
    cuda::check(cudaMemcpyAsync(&found, result_.data(), sizeof found, cudaMemcpyDeviceToHost, stream()),
                "reading the sum");
    cuda::check(cudaStreamSynchronize(stream()), "reading the sum");
    const auto right = static_cast<std::uint32_t>(passes_ * pattern_word(sum_below(count())));
    if (found == right) return std::nullopt;
    return "the sum of " + std::to_string(passes_) + " passes over " + std::to_string(count()) + " words is " +
           std::to_string(found) + ", not " + std::to_string(right);
  }

  Buffer words_, result_;
  std::uint64_t passes_ = 0;  // of the last run
};

const Cuda reduction_probe({{.name = "reduction", .open = runs<ReductionRunner>, .limit = limit_of_memory}});

}  // namespace
}  // namespace npgpu::cuda
