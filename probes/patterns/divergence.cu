// A branch of `ways` ways, each of them the same number of multiply-adds. Neighbouring threads, `stride` of them, take
// the same way: 1 sends each lane of a warp elsewhere, 32 whole warps.
//
// Each way has code of its own, which adds a number of its own: x = x * 1 + (way + 1). The factor is an argument, so
// that the compiler cannot count the steps together. What a thread ends with shows which way it took, and how often.

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned unrolled = 32, rounds = 32;
static_assert(unrolled * rounds == patterns::branch_steps);

struct Branches {
  std::uint32_t stride;
  std::uint32_t ways;
  std::uint32_t factor;  // 1
  std::uint32_t steps;
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

template <unsigned addend> __device__ void go(std::uint32_t& x, std::uint32_t factor) {
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < unrolled; ++i)
      asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(factor), "n"(addend));
  }
}

#define NPGPU_WAY(n)        \
  case n:                   \
    go<n + 1>(x, b.factor); \
    break;
#define NPGPU_WAYS(n) NPGPU_WAY(n) NPGPU_WAY(n + 1) NPGPU_WAY(n + 2) NPGPU_WAY(n + 3)

__global__ void __launch_bounds__(1024) branches(Branches b) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t way = b.stride ? threadIdx.x / b.stride % b.ways : 0;
  std::uint32_t x = thread;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < b.steps; ++step) {
    switch (way) {
      NPGPU_WAYS(0)
      NPGPU_WAYS(4)
      NPGPU_WAYS(8)
      NPGPU_WAYS(12)
      NPGPU_WAYS(16)
      NPGPU_WAYS(20)
      NPGPU_WAYS(24)
      NPGPU_WAYS(28)
    }
    __syncwarp();  // the ways meet here, before the next turn
  }
  clock.write(b.records, b.launch);
  b.results[thread] = x;
}
#undef NPGPU_WAYS
#undef NPGPU_WAY

class DivergenceRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return 2.0 * static_cast<double>(threads()) * patterns::branch_steps; }

 private:
  ProbeSample timed(std::uint32_t steps) override {
    const Branches b{.stride = shape().stride,
                     .ways = shape().ways,
                     .factor = 1,
                     .steps = steps,
                     .results = results(),
                     .records = bench().record(shape().blocks),
                     .launch = bench().launch()};
    return bench().time_kernel(steps, [&] { branches<<<shape().blocks, shape().threads, 0, stream()>>>(b); });
  }
  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t steps) const override {
    const std::uint64_t way = shape().stride ? thread / shape().stride % shape().ways : 0;
    return static_cast<std::uint32_t>(block * shape().threads + thread + steps * patterns::branch_steps * (way + 1));
  }
};

const Cuda divergence_probe({{.name = "divergence", .open = runs<DivergenceRunner>, .limit = limit_of_arithmetic}});

}  // namespace
}  // namespace npgpu::cuda
