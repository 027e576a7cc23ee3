// Reads that a GPU's own memories answer: shared memory, L1, L2, and the caches of constants.
//
// Each thread keeps `ilp` loads in flight and adds up what they bring. Words are pattern_word(i), linear in their
// place, so the host computes each thread's sum from the sum of its places.
//
// shared    A thread's word is `stride` words from its neighbour's, so a warp meets banks in the pattern of the stride.
//           All threads step through the array together; a step of all lanes changes no conflict.
// constant  The same, by indexed loads from 32 KiB of constants. Warps do not differ in their places.
// l1, l2    Every block walks through the whole set, 16 bytes a thread, each block from another place on: through L1
//           (ld.ca), or past it (ld.cg). A launch empties L1, so its first pass comes from L2; runs are thousands of
//           passes. Past L1 each block takes the chunks in an order of its own: where two blocks of a multiprocessor
//           read one line at a time, it is fetched once for both, and a block that falls behind another stays with it.
//           In one order a set of 3 MiB was read at up to 26 TB/s on an H200, more than its L2 sends. Blocks still
//           meet by chance: of what an H200's threads ask for, 94 % leaves L2 where the set has 6 MiB, 99 % of 24 MiB
//           (Nsight Compute). Of 3 MiB it is 88 %: the smallest set that is measured is a tenth of L2.
// l2        L2 serves some multiprocessors faster than others. With as many steps each, an H200's blocks ended 6 % of
//           the time before the last one, on average, and then less was read. So warps take turns of some steps from a
//           counter, and all end together. Each leaves how many it took, by which the host checks its sums.

#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

using patterns::ilp_of_words, patterns::ilp_wide, patterns::wide_threads;
constexpr std::uint32_t constant_words = 32 * KiB / 4;
// With 16 steps the additions to one counter took 2 % of the rate of an H200's L2.
constexpr std::uint32_t turn_steps = 32, warp_threads = 32;
constexpr std::uint32_t warps_of_block = wide_threads / warp_threads;

__constant__ std::uint32_t constant_pattern[constant_words];

// How many chunks on a block goes: sixteen primes, above all numbers of chunks and so without a divisor in common.
constexpr std::uint32_t orders = 16;
constexpr std::uint32_t primes[orders] = {2147483659u, 2280412903u, 2413342147u, 2546271379u, 2679200617u, 2812129843u,
                                          2945059111u, 3077988323u, 3210917587u, 3343846801u, 3476776027u, 3609705287u,
                                          3742634513u, 3875563753u, 4008492989u, 4141422289u};

struct Reads {
  const uint4* memory;  // l1, l2
  std::uint32_t words;  // shared: to fill
  std::uint32_t span;   // shared, constant: words through which all step
  std::uint32_t stride;
  std::uint32_t chunks;         // of the set, each of which a block reads in one step
  std::uint32_t apart[orders];  // chunks on, for one block in sixteen each
  std::uint32_t steps;
  std::uint32_t turns;       // l2: of all warps
  std::uint32_t* next_turn;  // l2
  std::uint32_t* taken;      // l2: turns, by warp
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
  std::uint32_t factor;  // shared: of a word by its place. Last: kernels that do not use it stay as they were
};

struct Shared {
  static __device__ std::uint32_t fill(const Reads& r) {
    extern __shared__ std::uint32_t shared_words[];
    for (std::uint32_t i = threadIdx.x; i < r.words; i += blockDim.x) shared_words[i] = r.factor * i;
    __syncthreads();
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_words));
  }
  static __device__ std::uint32_t place(const Reads& r) { return threadIdx.x % 32 * r.stride + threadIdx.x / 32; }
  static __device__ std::uint32_t load(std::uint32_t begin, std::uint32_t word) {
    std::uint32_t x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(begin + 4 * word));
    return x;
  }
};

struct Constant {
  static __device__ std::uint32_t fill(const Reads&) { return 0; }
  static __device__ std::uint32_t place(const Reads& r) { return threadIdx.x % 32 * r.stride; }
  static __device__ std::uint32_t load(std::uint32_t, std::uint32_t word) { return constant_pattern[word]; }
};

template <class Memory> __global__ void __launch_bounds__(1024) read_words(Reads r) {
  const std::uint32_t begin = Memory::fill(r), own = Memory::place(r);
  std::uint32_t base = 0, sum = 0;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < r.steps; ++step) {
    std::uint32_t x[ilp_of_words];
#pragma unroll
    for (unsigned k = 0; k < ilp_of_words; ++k) x[k] = Memory::load(begin, own + base + k);
#pragma unroll
    for (unsigned k = 0; k < ilp_of_words; ++k) sum += x[k];
    base += ilp_of_words;
    if (base >= r.span) base = 0;
  }
  clock.write(r.records, r.launch);
  r.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <bool through_l1> __device__ uint4 load_wide(const uint4* at) {
  uint4 x;
  if constexpr (through_l1)
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(at));
  else
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(at));
  return x;
}

// Where a block begins: the blocks are spread over all chunks.
__host__ __device__ std::uint32_t first_chunk(std::uint64_t block, std::uint32_t blocks, std::uint32_t chunks) {
  return static_cast<std::uint32_t>(block * chunks / blocks);
}

// Rows of a fixed width, so that a step has one address and its other loads are a constant away from it.
struct Chunk {
  uint4 x[ilp_wide];
  template <bool through_l1> __device__ void load(const Reads& r, std::uint32_t chunk) {
    const uint4* const at = r.memory + std::uint64_t{chunk} * (ilp_wide * wide_threads) + threadIdx.x;
#pragma unroll
    for (unsigned k = 0; k < ilp_wide; ++k) x[k] = load_wide<through_l1>(at + k * wide_threads);
  }
  __device__ void add_to(std::uint32_t& sum) const {
#pragma unroll
    for (unsigned k = 0; k < ilp_wide; ++k) sum += x[k].x + x[k].y + x[k].z + x[k].w;
  }
};
__device__ void go_on(std::uint32_t& chunk, std::uint32_t apart, const Reads& r) {
  chunk += apart;
  if (chunk >= r.chunks) chunk -= r.chunks;
}

__global__ void __launch_bounds__(wide_threads) read_l1(Reads r) {
  std::uint32_t chunk = first_chunk(blockIdx.x, gridDim.x, r.chunks), sum = 0;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < r.steps; ++step) {
    Chunk words;
    words.load<true>(r, chunk);
    go_on(chunk, 1, r);  // before the sum, which waits for the loads: where it came later, an H200 read 0.5 % less
    words.add_to(sum);
  }
  clock.write(r.records, r.launch);
  r.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Whether there is another turn for this warp, of which all lanes are here.
__device__ bool takes_turn(const Reads& r) {
  const std::uint32_t turn = threadIdx.x % warp_threads == 0 ? atomicAdd(r.next_turn, 1u) : 0;
  return __shfl_sync(0xFFFFFFFF, turn, 0) < r.turns;
}

__global__ void __launch_bounds__(wide_threads) read_l2(Reads r) {
  std::uint32_t chunk = first_chunk(blockIdx.x, gridDim.x, r.chunks), sum = 0, taken = 0;
  const BlockClock clock(true);
  const std::uint32_t apart = r.apart[blockIdx.x % orders];
  for (; takes_turn(r); ++taken) {
#pragma unroll 1
    for (std::uint32_t step = 0; step < turn_steps; ++step) {
      Chunk words;
      words.load<false>(r, chunk);
      words.add_to(sum);
      go_on(chunk, apart, r);
    }
  }
  const std::uint32_t warp = blockIdx.x * warps_of_block + threadIdx.x / warp_threads;
  if (threadIdx.x % warp_threads == 0) r.taken[warp] = taken;
  clock.write(r.records, r.launch);
  r.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

class OnchipRunner final : public SumsRunner {
 public:
  OnchipRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), memory_(Memory::device, std::max<std::uint64_t>(max_bytes(), 16)) {
    cuda::check(
        cudaFuncSetAttribute(read_l1, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1),
        "leaving as much as possible to L1");
    cuda::check(cudaFuncSetAttribute(read_words<Shared>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared),
                "leaving as much as possible to shared memory");
    fill(pattern_word(1));
  }
  double work() const override {
    return static_cast<double>(steps_of_repeat() * threads()) * shape().ilp * shape().access_bytes;
  }

 private:
  Space space() const { return question().space; }
  // Caches need many: a trial is a repeat at least, here some milliseconds on an H200. In one of 1 ms the launch and
  // L1's first pass, which comes from L2, would be 1 %, as would L2's last turns.
  std::uint64_t steps_of_repeat() const { return space() == Space::l1 ? 8192 : space() == Space::l2 ? 1024 : 1; }
  std::uint64_t warps() const { return std::uint64_t{shape().blocks} * warps_of_block; }
  bool wide() const { return space() == Space::l1 || space() == Space::l2; }
  // A word of memory and of constants is this times its place.
  void fill(std::uint32_t factor) {
    factor_ = factor;
    fill_pattern<<<1024, 256, 0, stream()>>>(reinterpret_cast<std::uint32_t*>(memory_.data()), max_bytes() / 4, factor);
    cuda::check(cudaGetLastError(), "filling the set");
    std::vector<std::uint32_t> words(constant_words);
    for (std::uint32_t i = 0; i < constant_words; ++i) words[i] = factor * i;
    void* constants = nullptr;
    cuda::check(cudaGetSymbolAddress(&constants, constant_pattern), "finding constant memory");
    cuda::check(cudaMemcpyAsync(constants, words.data(), words.size() * 4, cudaMemcpyHostToDevice, stream()),
                "filling constant memory");
    cuda::check(cudaStreamSynchronize(stream()), "filling memory");  // before `words` goes
  }
  void set_up() override {
    bench().gpu().make_current();
    const std::uint32_t factor = shape().operands == Operands::zeros ? 0 : pattern_word(1);
    if (factor != factor_) fill(factor);
    if (const std::uint64_t bytes = (1 + warps()) * 4; space() == Space::l2 && turns_.bytes() < bytes)
      turns_ = Buffer(Memory::device, bytes);
    make_ready();
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const std::uint64_t steps = repeats * steps_of_repeat();
    if (steps > UINT32_MAX) throw Error(ErrorKind::usage, "probe onchip: at most 2^32 - 1 steps");
    if (space() == Space::l2) {
      asked_turns_ = steps / turn_steps * warps();
      if (asked_turns_ + warps() > UINT32_MAX)  // each warp asks for one that there is not
        throw Error(ErrorKind::usage,
                    "probe onchip: at most 2^32 - 1 turns of " + std::to_string(turn_steps) + " steps");
      cuda::check(cudaMemsetAsync(turns_.data(), 0, (1 + warps()) * 4, stream()), "clearing the turns");
    }
    Reads r{.memory = reinterpret_cast<const uint4*>(memory_.data()),
            .words = static_cast<std::uint32_t>(shape().bytes / 4),
            .span = wide() ? 0 : patterns::span_words(shape(), space()),
            .stride = shape().stride,
            .chunks = chunks(),
            .steps = static_cast<std::uint32_t>(steps),
            .results = results(),
            .records = bench().record(shape().blocks),
            .launch = bench().launch(),
            .factor = factor_};
    if (space() == Space::l2) {
      for (std::uint32_t i = 0; i < orders; ++i) r.apart[i] = chunks_apart(i);
      r.turns = static_cast<std::uint32_t>(asked_turns_);
      r.next_turn = reinterpret_cast<std::uint32_t*>(turns_.data());
      r.taken = r.next_turn + 1;
    }
    const auto kernel = space() == Space::shared     ? read_words<Shared>
                        : space() == Space::constant ? read_words<Constant>
                        : space() == Space::l1       ? read_l1
                                                     : read_l2;
    const std::uint64_t shared_bytes = space() == Space::shared ? shape().bytes : 0;
    return bench().time_kernel(repeats,
                               [&] { kernel<<<shape().blocks, shape().threads, shared_bytes, stream()>>>(r); });
  }
  std::uint32_t chunks_apart(std::uint32_t block) const {
    return space() == Space::l1 ? 1 : primes[block % orders] % chunks();
  }
  std::uint32_t chunks() const { return static_cast<std::uint32_t>(patterns::chunks_of(shape())); }
  std::optional<std::string> wrong_result() override {
    if (space() != Space::l2) return SumsRunner::wrong_result();
    bench().gpu().make_current();
    taken_ = read<std::uint32_t>(turns_.data() + 4, warps());
    const auto taken = std::accumulate(taken_.begin(), taken_.end(), std::uint64_t{0});
    if (taken == asked_turns_) return SumsRunner::wrong_result();
    return "the warps took " + std::to_string(taken) + " turns, not " + std::to_string(asked_turns_);
  }
  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const override {
    const std::uint64_t steps =
        space() == Space::l2
            ? std::uint64_t{taken_[block * std::size_t{warps_of_block} + thread / warp_threads]} * turn_steps
            : repeats * steps_of_repeat();
    const std::uint64_t loads = steps * shape().ilp;
    if (wide()) {  // an access holds words 4a .. 4a+3, whose places sum to 16a + 6
      const std::uint64_t begun = chunks_of_block(block, steps);
      const std::uint64_t rows = ilp_wide * ilp_wide * begun + steps * sum_below(ilp_wide);
      return factor_ * static_cast<std::uint32_t>(16 * (loads * thread + wide_threads * rows) + 6 * loads);
    }
    const std::uint64_t own =
        thread % 32 * std::uint64_t{shape().stride} + (space() == Space::shared ? thread / 32 : 0);
    const std::uint64_t turns = patterns::span_words(shape(), space()) / shape().ilp;
    const std::uint64_t bases = shape().ilp * sum_of_cycle(0, steps, turns);
    return factor_ * static_cast<std::uint32_t>(loads * own + shape().ilp * bases + steps * sum_below(shape().ilp));
  }

  // The sum of the chunks at which a block's steps began; a warp's threads ask for the same one after the other.
  std::uint64_t chunks_of_block(std::uint32_t block, std::uint64_t steps) const {
    const std::tuple asked(block, steps, chunks(), space());
    if (asked == summed_) return sum_;
    const std::uint32_t n = chunks(), apart = chunks_apart(block);
    sum_ = steps / n * sum_below(n);
    std::uint32_t chunk = first_chunk(block, shape().blocks, n);
    for (std::uint64_t step = 0; step < steps % n; ++step) {
      sum_ += chunk;
      chunk = chunk < n - apart ? chunk + apart : chunk - (n - apart);
    }
    summed_ = asked;
    return sum_;
  }

  std::uint32_t factor_ = 0;
  Buffer memory_;
  Buffer turns_;  // l2: the next turn, then those that each warp took
  std::uint64_t asked_turns_ = 0;
  std::vector<std::uint32_t> taken_;
  mutable std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, Space> summed_{};
  mutable std::uint64_t sum_ = 0;
};

const Cuda onchip_probe(
    {{.name = "onchip",
      .open = runs<OnchipRunner>,
      .limit =
          [](const ProbeCase& c, const Layout& l) {
            return c.space == Space::shared || c.space == Space::l1
                       ? limit_of_banks(l)
                       : Limit{not_measured, "unknown: neither driver nor guide gives the bandwidth of this cache"};
          },
      .takes = [](const ProbeCase&,
                  Operands operands) { return operands == Operands::usual || operands == Operands::zeros; }}});

}  // namespace
}  // namespace npgpu::cuda
