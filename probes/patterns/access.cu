// Coalescing: what a warp's load costs by the distance of its lanes' words and by where the first one lies.
//
// A warp's words lie in a window of 32 * stride words, and its loads go from window to window through a set that the
// cache holds: l2 by ld.cg, of which L2 answers all; l1 by ld.ca. So what differs from stride to stride is how many
// sectors or lines a load asks for, not who answers. The loads of a step are a constant apart, a plane: an address for
// each of them would take longer than a load that L1 answers.

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned ilp = patterns::ilp_of_words, lanes = 32;

struct Windows {
  const std::uint32_t* memory;  // the first lane's first word
  std::uint32_t stride;
  std::uint32_t windows;  // of a plane
  std::uint32_t warps;    // over which the windows are shared out
  std::uint32_t steps;
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

// Where a warp begins: the warps are spread over all windows.
__host__ __device__ std::uint32_t first_window(std::uint64_t warp, std::uint32_t warps, std::uint32_t windows) {
  return static_cast<std::uint32_t>(warp % warps * windows / warps);
}

template <bool through_l1> __device__ std::uint32_t load_word(const std::uint32_t* at) {
  std::uint32_t x;
  if constexpr (through_l1) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(at));
  else asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(at));
  return x;
}

template <bool through_l1, unsigned plane_bytes> __global__ void __launch_bounds__(1024) read_windows(Windows w) {
  const std::uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / lanes;
  const std::uint32_t* const own = w.memory + threadIdx.x % lanes * w.stride;
  const std::uint32_t apart = lanes * w.stride, end = w.windows * apart;
  std::uint32_t place = first_window(warp, w.warps, w.windows) * apart, sum = 0;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < w.steps; ++step) {
    const std::uint32_t* const at = own + place;
    std::uint32_t x[ilp];
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) x[k] = load_word<through_l1>(at + k * (plane_bytes / 4));
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) sum += x[k];
    place += apart;
    if (place >= end) place = 0;
  }
  clock.write(w.records, w.launch);
  w.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

class AccessRunner final : public SumsRunner {
 public:
  AccessRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), memory_(Memory::device, max_bytes() + patterns::max_offset) {
    fill_pattern<<<1024, 256, 0, stream()>>>(words(), memory_.bytes() / 4);
    cuda::check(cudaGetLastError(), "filling the set");
    cuda::check(cudaFuncSetAttribute(read_windows<true, patterns::l1_plane>,
                                     cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1),
                "leaving as much as possible to L1");
  }
  double work() const override { return static_cast<double>(threads()) * ilp * 4; }

 private:
  bool through_l1() const { return question().space == Space::l1; }
  std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(memory_.data()); }
  std::uint32_t windows() const { return static_cast<std::uint32_t>(patterns::windows_of(shape())); }
  std::uint64_t plane() const { return shape().bytes / ilp; }
  // In L1 each block's warps are spread over the whole set, in L2 those of the grid.
  std::uint32_t warps() const {
    return static_cast<std::uint32_t>((through_l1() ? shape().threads : threads()) / lanes);
  }
  ProbeSample timed(std::uint32_t steps) override {
    const Windows w{.memory = words() + shape().offset_bytes / 4,
                    .stride = shape().stride,
                    .windows = windows(),
                    .warps = warps(),
                    .steps = steps,
                    .results = results(),
                    .records = bench().record(shape().blocks),
                    .launch = bench().launch()};
    const auto kernel = through_l1()                       ? read_windows<true, patterns::l1_plane>
                        : plane() == patterns::small_plane ? read_windows<false, patterns::small_plane>
                                                           : read_windows<false, patterns::large_plane>;
    return bench().time_kernel(steps, [&] { kernel<<<shape().blocks, shape().threads, 0, stream()>>>(w); });
  }
  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t steps) const override {
    const std::uint64_t loads = steps * ilp, warp = (std::uint64_t{block} * shape().threads + thread) / lanes;
    const std::uint64_t own = shape().offset_bytes / 4 + thread % lanes * std::uint64_t{shape().stride};
    const std::uint64_t passed = sum_of_cycle(first_window(warp, warps(), windows()), steps, windows());
    return pattern_word(loads * own + ilp * lanes * std::uint64_t{shape().stride} * passed +
                        steps * sum_below(ilp) * (plane() / 4));
  }

  Buffer memory_;
};

const Cuda access_probe(
    {{.name = "access", .open = runs<AccessRunner>, .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
        return {0, max_bytes_of(steps) + patterns::max_offset};
      }}});

}  // namespace
}  // namespace npgpu::cuda
