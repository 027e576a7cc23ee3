// From global memory into shared memory, tile by tile, by blocks of 256 threads that are resident all at once:
//
//   1  loads into registers, stores into shared memory
//   2  asynchronous copies (cp.async, 16 bytes a thread), a tile at a time
//   3  the same, eight tiles ahead
//   4  bulk copies (cp.async.bulk: one thread asks for a whole tile), eight tiles ahead
//
// Each thread then adds up its neighbour's 16 bytes of the tile, so that a tile that was read too early, or overwritten
// too early, leaves a wrong sum.

#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned block = patterns::staging_threads, stages = patterns::stages;
constexpr unsigned tile_bytes = patterns::tile_bytes;
static_assert(tile_bytes == block * sizeof(uint4));

struct Tiles {
  const uint4* memory;
  std::uint32_t tiles;  // of the array; the blocks take turns
  std::uint32_t passes;
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

__device__ std::uint32_t sum_of(const uint4& x) { return x.x + x.y + x.z + x.w; }

__device__ void copy_async(void* to, const uint4* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from)
      : "memory");
#else
  (void)to, (void)from;
  __trap();  // refuses() keeps this away from older devices
#endif
}
__device__ void commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int pending> __device__ void wait_but() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

// A barrier in shared memory that counts the bytes of bulk copies.
struct BulkBarrier {
  static __device__ std::uint32_t address(const std::uint64_t* barrier) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  }
  static __device__ void make(std::uint64_t* barrier) {
    const std::uint32_t at = address(barrier);
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
#else
    (void)at;
#endif
  }
  static __device__ void made() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }
  static __device__ void copy(std::uint64_t* barrier, void* to, const uint4* from) {
    const std::uint32_t at = address(barrier);
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "n"(tile_bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(tile_bytes), "r"(at)
                 : "memory");
#else
    (void)at, (void)to, (void)from;
    __trap();  // refuses() keeps this away from older devices
#endif
  }
  static __device__ void wait(const std::uint64_t* barrier, std::uint32_t parity) {
    const std::uint32_t at = address(barrier);
#if __CUDA_ARCH__ >= 900
    std::uint32_t done = 0;
    while (!done)
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                   : "=r"(done)
                   : "r"(at), "r"(parity)
                   : "memory");
#else
    (void)at, (void)parity;
#endif
  }
};

template <int rung> __global__ void __launch_bounds__(block) stage(Tiles t) {
  constexpr unsigned ahead = rung <= 2 ? 1 : stages;
  __shared__ alignas(128) uint4 buffer[ahead][block];
  __shared__ std::uint64_t arrived[rung == 4 ? ahead : 1];
  const unsigned own = threadIdx.x, neighbour = (threadIdx.x + 1) % block;
  const std::uint32_t of_block = t.tiles / gridDim.x;
  const std::uint64_t count = std::uint64_t{of_block} * t.passes;
  std::uint32_t sum = 0;
  if constexpr (rung == 4) {
    if (own == 0) {
      for (unsigned s = 0; s < ahead; ++s) BulkBarrier::make(&arrived[s]);
      BulkBarrier::made();
    }
    __syncthreads();
  }
  std::uint32_t next = 0;  // of this block's tiles, in one pass
  const auto bring = [&](std::uint64_t n) {
    const unsigned slot = n % ahead;
    if (n < count) {
      const uint4* const from = t.memory + (std::uint64_t{next} * gridDim.x + blockIdx.x) * block;
      if (++next == of_block) next = 0;
      if constexpr (rung == 1) buffer[slot][own] = __ldcs(from + own);
      else if constexpr (rung <= 3) copy_async(&buffer[slot][own], from + own);
      else if (own == 0) BulkBarrier::copy(&arrived[slot], buffer[slot], from);
    }
    // Also an empty group where there is nothing more: so many groups are always under way.
    if constexpr (rung == 2 || rung == 3) commit();
  };
  const BlockClock clock(true);
  for (unsigned n = 0; n + 1 < ahead; ++n) bring(n);
#pragma unroll 1
  for (std::uint64_t n = 0; n < count; ++n) {
    const unsigned slot = n % ahead;
    if constexpr (ahead == 1) bring(n);
    if constexpr (rung == 2) wait_but<0>();
    if constexpr (rung == 3) wait_but<ahead - 2>();
    if constexpr (rung == 4) BulkBarrier::wait(&arrived[slot], n / ahead % 2);
    __syncthreads();  // all of the tile is there; and all have read the tile before
    if constexpr (ahead > 1) bring(n + ahead - 1);
    sum += sum_of(buffer[slot][neighbour]);
    if constexpr (ahead == 1) __syncthreads();
  }
  clock.write(t.records, t.launch);
  t.results[blockIdx.x * block + own] = sum;
}

using Kernel = void (*)(Tiles);
constexpr Kernel kernels[] = {stage<1>, stage<2>, stage<3>, stage<4>};
static_assert(std::size(kernels) == patterns::staging_rungs);

class StagingRunner final : public SumsRunner {
 public:
  StagingRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), memory_(Memory::device, std::max<std::uint64_t>(max_bytes(), tile_bytes)) {
    fill_pattern<<<1024, 256, 0, stream()>>>(reinterpret_cast<std::uint32_t*>(memory_.data()), max_bytes() / 4);
    cuda::check(cudaGetLastError(), "filling the array");
  }
  double work() const override { return static_cast<double>(tiles()) * tile_bytes; }

 private:
  // Whole rounds of all blocks.
  std::uint32_t tiles() const {
    return static_cast<std::uint32_t>(shape().bytes / tile_bytes / shape().blocks * shape().blocks);
  }
  ProbeSample timed(std::uint32_t passes) override {
    const Tiles t{.memory = reinterpret_cast<const uint4*>(memory_.data()),
                  .tiles = tiles(),
                  .passes = passes,
                  .results = results(),
                  .records = bench().record(shape().blocks),
                  .launch = bench().launch()};
    const Kernel kernel = kernels[shape().rung - 1];
    return bench().time_kernel(passes, [&] { kernel<<<shape().blocks, block, 0, stream()>>>(t); });
  }
  std::uint32_t expected(std::uint32_t of_block, std::uint32_t thread, std::uint64_t passes) const override {
    // An access holds words 4a .. 4a+3, whose places sum to 16a + 6; a is (n * blocks + block) * 256 + neighbour.
    const std::uint64_t own = tiles() / shape().blocks, neighbour = (thread + 1) % block;
    const std::uint64_t accesses = block * (shape().blocks * sum_below(own) + own * of_block) + own * neighbour;
    return pattern_word(passes * (16 * accesses + 6 * own));
  }

  Buffer memory_;
};

std::optional<std::string> lacks_copies(const ProbeCase& c, const Shape& shape) {
  const int capability = capability_of(c);
  if (shape.rung > 1 && capability < 80) return "asynchronous copies need compute capability 8.0";
  if (shape.rung == 4 && capability < 90) return "bulk copies need compute capability 9.0";
  return std::nullopt;
}

const Cuda staging_probe(
    {{.name = "staging", .open = runs<StagingRunner>, .refuses = lacks_copies, .limit = limit_of_memory}});

}  // namespace
}  // namespace npgpu::cuda
