// What fewer blocks at once cost. Each warp reads word after word, of which each says where the next one lies, past L1;
// nothing hides the latency but other warps. The grid and its work are the same for all shapes. How many blocks a
// multiprocessor holds at once follows from what they take of its shared memory, which no thread touches, and of its
// registers: a kernel loads as many words as it is to keep, before the loads that are timed, and adds them up after.
//
// The words are a ring, sector by sector; a warp begins at a place of its own, so the host knows where it ends.

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

using occupancy::sector_bytes;
constexpr std::uint32_t words_of_sector = sector_bytes / 4, sectors = occupancy::set_bytes / sector_bytes, lanes = 32;

struct Ring {
  const std::uint32_t* words;
  std::uint32_t warps;  // of the grid
  std::uint32_t loads;
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

__host__ __device__ std::uint32_t first_sector(std::uint32_t warp, std::uint32_t warps) {
  return static_cast<std::uint32_t>(std::uint64_t{warp} * sectors / warps);
}
// What the word of a sector says: where the next sector's word lies.
__host__ __device__ std::uint32_t next_word(std::uint32_t sector) { return (sector + 1) % sectors * words_of_sector; }

__global__ void link_sectors(std::uint32_t* words) {
  const std::uint32_t sector = blockIdx.x * blockDim.x + threadIdx.x;
  if (sector < sectors) words[sector * words_of_sector] = next_word(sector);
}

template <unsigned kept> __global__ void __launch_bounds__(occupancy::threads) walk_ring(Ring r) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t words[kept + 1];  // one more: no array has no words
#pragma unroll
  for (unsigned i = 0; i + 1 < kept + 1; ++i)
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(words[i]) : "l"(r.words + i * words_of_sector) : "memory");
  std::uint32_t at = first_sector(thread / lanes, r.warps) * words_of_sector;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t load = 0; load < r.loads; ++load)
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(r.words + at) : "memory");
  clock.write(r.records, r.launch);
#pragma unroll
  for (unsigned i = 0; i + 1 < kept + 1; ++i) at += words[i];
  r.results[thread] = at;
}

struct Kernel {
  void (*run)(Ring);
  unsigned kept;
};
// Kept so many that a multiprocessor of 65,536 registers holds 16, 12, 8, 6, 4, 3 and 2 blocks.
constexpr Kernel kernels[] = {{walk_ring<0>, 0},     {walk_ring<24>, 24},   {walk_ring<48>, 48},  {walk_ring<64>, 64},
                              {walk_ring<112>, 112}, {walk_ring<152>, 152}, {walk_ring<236>, 236}};

cudaFuncAttributes attributes_of(const Kernel& kernel) {
  cudaFuncAttributes all{};
  cuda::check(cudaFuncGetAttributes(&all, kernel.run), "asking for a kernel's registers");
  return all;
}

// As the compiler gave them, on the device that is current.
std::vector<std::uint32_t> registers() {
  std::vector<std::uint32_t> all;
  for (const Kernel& kernel : kernels) all.push_back(static_cast<std::uint32_t>(attributes_of(kernel).numRegs));
  return all;
}

class OccupancyRunner final : public SumsRunner {
 public:
  OccupancyRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), memory_(Memory::device, occupancy::set_bytes), registers_(registers()) {
    link_sectors<<<(sectors + 255) / 256, 256, 0, stream()>>>(reinterpret_cast<std::uint32_t*>(memory_.data()));
    cuda::check(cudaGetLastError(), "linking the sectors");
  }
  double work() const override { return 4.0 * static_cast<double>(threads()) * occupancy::loads; }

 private:
  const Kernel& kernel() const {
    return kernels[std::ranges::find(registers_, shape().registers) - registers_.begin()];
  }
  void set_up() override {
    bench().gpu().make_current();
    const auto allow = [&](cudaFuncAttribute which, int value) {
      cuda::check(cudaFuncSetAttribute(kernel().run, which, value), "asking for shared memory");
    };
    const auto own = static_cast<std::uint32_t>(attributes_of(kernel()).sharedSizeBytes);
    asked_ = shape().shared_bytes > own ? shape().shared_bytes - own : 0;
    allow(cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(asked_));
    allow(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    make_ready();
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const Ring r{.words = reinterpret_cast<const std::uint32_t*>(memory_.data()),
                 .warps = warps(),
                 .loads = repeats * occupancy::loads,
                 .results = results(),
                 .records = bench().record(shape().blocks),
                 .launch = bench().launch()};
    return bench().time_kernel(repeats,
                               [&] { kernel().run<<<shape().blocks, shape().threads, asked_, stream()>>>(r); });
  }
  std::uint32_t warps() const { return static_cast<std::uint32_t>(threads() / lanes); }
  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const override {
    const std::uint32_t begin = first_sector((block * shape().threads + thread) / lanes, warps());
    std::uint32_t sum = static_cast<std::uint32_t>((begin + repeats * occupancy::loads) % sectors) * words_of_sector;
    for (std::uint32_t i = 0; i < kernel().kept; ++i) sum += next_word(i);
    return sum;
  }

  Buffer memory_;
  std::vector<std::uint32_t> registers_;
  std::uint32_t asked_ = 0;  // bytes of shared memory besides the kernel's own
};

const Cuda occupancy_probe({{.name = "occupancy",
                             .open = runs<OccupancyRunner>,
                             .shapes = [](const ProbeCase&,
                                          const Layout& l) { return occupancy::shapes(l, registers()); },
                             .refuses =
                                 [](const ProbeCase& c, const Shape& s) {
                                   return occupancy::refuses(layout_of(ordinal_or_throw(c.device)), s, registers());
                                 },
                             .needs = [](std::span<const ProbeStep>) -> MemoryNeed {
                               return {0, occupancy::set_bytes};
                             }}});

}  // namespace
}  // namespace npgpu::cuda
