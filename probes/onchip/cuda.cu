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
//           In one order a set of 3 MiB was read at up to 26 TB/s on an H200, more than its L2 sends.

#include <string>
#include <tuple>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda_sums.hpp"
#include "probes/patterns.hpp"

namespace npgpu::cuda {

namespace {

using patterns::ilp_of_words, patterns::ilp_wide, patterns::wide_threads;
constexpr std::uint32_t constant_words = 32 * KiB / 4;

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
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

struct Shared {
  static __device__ std::uint32_t fill(const Reads& r) {
    extern __shared__ std::uint32_t shared_words[];
    for (std::uint32_t i = threadIdx.x; i < r.words; i += blockDim.x) shared_words[i] = pattern_word(i);
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
template <bool through_l1> __global__ void __launch_bounds__(wide_threads) read_wide(Reads r) {
  std::uint32_t chunk = first_chunk(blockIdx.x, gridDim.x, r.chunks), sum = 0;
  const std::uint32_t apart = through_l1 ? 1 : r.apart[blockIdx.x % orders];
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < r.steps; ++step) {
    const uint4* const at = r.memory + std::uint64_t{chunk} * (ilp_wide * wide_threads) + threadIdx.x;
    uint4 x[ilp_wide];
#pragma unroll
    for (unsigned k = 0; k < ilp_wide; ++k) x[k] = load_wide<through_l1>(at + k * wide_threads);
#pragma unroll
    for (unsigned k = 0; k < ilp_wide; ++k) sum += x[k].x + x[k].y + x[k].z + x[k].w;
    chunk += apart;
    if (chunk >= r.chunks) chunk -= r.chunks;
  }
  clock.write(r.records, r.launch);
  r.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

class OnchipRunner final : public SumsRunner {
 public:
  OnchipRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), memory_(Memory::device, std::max<std::uint64_t>(max_bytes(), 16)) {
    fill_pattern<<<1024, 256, 0, stream()>>>(reinterpret_cast<std::uint32_t*>(memory_.data()), max_bytes() / 4);
    cuda::check(cudaGetLastError(), "filling the set");
    std::vector<std::uint32_t> words(constant_words);
    for (std::uint32_t i = 0; i < constant_words; ++i) words[i] = pattern_word(i);
    void* constants = nullptr;
    cuda::check(cudaGetSymbolAddress(&constants, constant_pattern), "finding constant memory");
    cuda::check(cudaMemcpyAsync(constants, words.data(), words.size() * 4, cudaMemcpyHostToDevice, stream()),
                "filling constant memory");
    cuda::check(cudaFuncSetAttribute(read_wide<true>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxL1),
                "leaving as much as possible to L1");
    cuda::check(cudaFuncSetAttribute(read_words<Shared>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared),
                "leaving as much as possible to shared memory");
    cuda::check(cudaStreamSynchronize(stream()), "filling memory");  // before `words` goes
  }
  double work() const override {
    return static_cast<double>(steps_of_repeat() * threads()) * shape().ilp * shape().access_bytes;
  }

 private:
  Space space() const { return question().space; }
  // Of L1 many: a trial is a repeat at least, here some milliseconds on an H200. In one of 1 ms the launch and the
  // first pass, which comes from L2, would be 1 %.
  std::uint64_t steps_of_repeat() const { return space() == Space::l1 ? 8192 : 1; }
  bool wide() const { return space() == Space::l1 || space() == Space::l2; }
  void set_up() override {
    bench().gpu().make_current();
    make_ready();
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const std::uint64_t steps = repeats * steps_of_repeat();
    if (steps > UINT32_MAX) throw Error(ErrorKind::usage, "probe onchip: at most 2^32 - 1 steps");
    Reads r{.memory = reinterpret_cast<const uint4*>(memory_.data()),
            .words = static_cast<std::uint32_t>(shape().bytes / 4),
            .span = wide() ? 0 : patterns::span_words(shape(), space()),
            .stride = shape().stride,
            .chunks = chunks(),
            .steps = static_cast<std::uint32_t>(steps),
            .results = results(),
            .records = bench().record(shape().blocks),
            .launch = bench().launch()};
    for (std::uint32_t i = 0; wide() && i < orders; ++i) r.apart[i] = chunks_apart(i);
    const auto kernel = space() == Space::shared     ? read_words<Shared>
                        : space() == Space::constant ? read_words<Constant>
                        : space() == Space::l1       ? read_wide<true>
                                                     : read_wide<false>;
    const std::uint64_t shared_bytes = space() == Space::shared ? shape().bytes : 0;
    return bench().time_kernel(repeats,
                               [&] { kernel<<<shape().blocks, shape().threads, shared_bytes, stream()>>>(r); });
  }
  std::uint32_t chunks_apart(std::uint32_t block) const {
    return space() == Space::l1 ? 1 : primes[block % orders] % chunks();
  }
  std::uint32_t chunks() const { return static_cast<std::uint32_t>(patterns::chunks_of(shape())); }
  std::uint32_t expected(std::uint32_t block, std::uint32_t thread, std::uint64_t repeats) const override {
    const std::uint64_t steps = repeats * steps_of_repeat(), loads = steps * shape().ilp;
    if (wide()) {  // an access holds words 4a .. 4a+3, whose places sum to 16a + 6
      const std::uint64_t begun = chunks_of_block(block, steps);
      const std::uint64_t rows = ilp_wide * ilp_wide * begun + steps * sum_below(ilp_wide);
      return pattern_word(16 * (loads * thread + wide_threads * rows) + 6 * loads);
    }
    const std::uint64_t own =
        thread % 32 * std::uint64_t{shape().stride} + (space() == Space::shared ? thread / 32 : 0);
    const std::uint64_t turns = patterns::span_words(shape(), space()) / shape().ilp;
    const std::uint64_t bases = shape().ilp * sum_of_cycle(0, steps, turns);
    return pattern_word(loads * own + shape().ilp * bases + steps * sum_below(shape().ilp));
  }

  // The sum of the chunks at which a block's steps began; a block's threads ask for the same one after the other.
  std::uint64_t chunks_of_block(std::uint32_t block, std::uint64_t steps) const {
    const std::tuple asked(block, steps, chunks(), space());
    if (asked == summed_) return sum_;
    const std::uint32_t n = chunks(), apart = chunks_apart(block);
    sum_ = steps / n * sum_below(n);
    std::uint32_t chunk = first_chunk(block, shape().blocks, n);
    for (std::uint64_t step = 0; step < steps % n; ++step, chunk = (chunk + apart) % n) sum_ += chunk;
    summed_ = asked;
    return sum_;
  }

  Buffer memory_;
  mutable std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, Space> summed_{};
  mutable std::uint64_t sum_ = 0;
};

class OnchipProbe final : public CudaProbe {
 public:
  std::string_view name() const override { return "onchip"; }
  std::string_view summary() const override {
    return "reads that shared memory, L1, L2 and the caches of constants answer; bank conflicts by stride";
  }
  std::optional<std::string> refuses_shape(const ProbeCase& c, const Shape& shape) const override {
    if (auto why = refuses_grid(shape)) return why;
    return patterns::refuses_onchip(c, shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override {
    return patterns::onchip_shapes(context(c).layout, c.space);
  }
  std::vector<Shape> usual_shapes(const ProbeCase& c) const override {
    return patterns::usual_onchip_shapes(context(c).layout, c.space);
  }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<OnchipRunner>(*this, steps);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override {
    std::vector<ProbeCase> all;
    for (const Space space : {Space::shared, Space::l1, Space::l2, Space::constant})
      all.push_back({.probe = "onchip", .device = device, .operation = Operation::read, .space = space});
    return all;
  }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    const auto all = questions(c.device);
    if (std::find(all.begin(), all.end(), c) != all.end()) return std::nullopt;
    return "probe onchip reads fp32 words, streaming, in the spaces shared, l1, l2 and constant";
  }
  Limit limit(const ProbeCase& c, int ordinal) const override {
    const Layout l = layout_of(ordinal);
    if (c.space != Space::shared && c.space != Space::l1)
      return {not_measured, "unknown: neither driver nor guide gives the bandwidth of this cache"};
    return {128.0 * l.units * l.clock_mhz * 1e6,
            "32 banks of 4 bytes a cycle (CUDA C++ Programming Guide) * multiprocessors * highest clock"};
  }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::OnchipProbe)
