// Atomic additions of 1 to words of global or shared memory: all threads at one word (stride 0), or each at its own.
//
// add leaves the old value unused (red), fetch uses it (atom). The addend is an argument, so that the compiler cannot
// turn the additions of a warp into a count of its lanes. Every word ends as the number of additions to it, modulo
// 2^32; where old values are used, those of a word sum to 0 + 1 + ... whatever the order was.

#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned ilp = patterns::ilp_of_words;
constexpr std::uint32_t max_shared_words = patterns::threads;

struct Additions {
  std::uint32_t* words;     // global: zero before; shared: where each block's words go
  std::uint32_t own_words;  // of a block, or of the grid
  std::uint32_t stride;
  std::uint32_t addend;  // 1
  std::uint32_t steps;
  std::uint32_t* results;  // fetch: the sum of a thread's old values
  BlockRecord* records;
  std::uint32_t launch;
};

template <bool shared, bool fetch> __device__ std::uint32_t add_to(std::uint64_t at, std::uint32_t addend) {
  std::uint32_t old = 0;
  const auto in_block = static_cast<std::uint32_t>(at);
  if constexpr (shared && fetch)
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(in_block), "r"(addend) : "memory");
  else if constexpr (shared) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(in_block), "r"(addend) : "memory");
  else if constexpr (fetch)
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(addend) : "memory");
  else asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(addend) : "memory");
  return old;
}

template <bool shared, bool fetch> __global__ void __launch_bounds__(1024) add_words(Additions a) {
  __shared__ std::uint32_t own[shared ? max_shared_words : 1];
  if constexpr (shared) {
    for (std::uint32_t i = threadIdx.x; i < a.own_words; i += blockDim.x) own[i] = 0;
    __syncthreads();
  }
  const std::uint32_t thread = shared ? threadIdx.x : blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t place = std::uint64_t{thread} * a.stride;
  const std::uint64_t at =
      shared ? __cvta_generic_to_shared(own + place) : reinterpret_cast<std::uint64_t>(a.words + place);
  std::uint32_t sum = 0;
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.steps; ++step) {
    std::uint32_t old[ilp];
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) old[k] = add_to<shared, fetch>(at, a.addend);
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) sum += old[k];
  }
  clock.write(a.records, a.launch);
  a.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if constexpr (shared) {
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < a.own_words; i += blockDim.x)
      a.words[std::uint64_t{blockIdx.x} * a.own_words + i] = own[i];
  }
}

class AtomicsRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return static_cast<double>(threads()) * ilp; }

 private:
  bool shared() const { return question().space == Space::shared; }
  bool fetches() const { return question().operation == Operation::fetch; }
  std::uint32_t blocks_of_words() const { return shared() ? shape().blocks : 1; }
  std::uint64_t own_words() const { return patterns::atomic_words(shape(), question().space); }
  std::uint64_t word_bytes() const { return blocks_of_words() * own_words() * sizeof(std::uint32_t); }
  void set_up() override {
    bench().gpu().make_current();
    if (words_.bytes() < word_bytes()) words_ = Buffer(Memory::device, word_bytes());
    make_ready();
  }
  ProbeSample timed(std::uint32_t steps) override {
    cuda::check(cudaMemsetAsync(words_.data(), 0, word_bytes(), stream()), "clearing the words");
    const Additions a{.words = reinterpret_cast<std::uint32_t*>(words_.data()),
                      .own_words = static_cast<std::uint32_t>(own_words()),
                      .stride = shape().stride,
                      .addend = 1,
                      .steps = steps,
                      .results = results(),
                      .records = bench().record(shape().blocks),
                      .launch = bench().launch()};
    steps_ = steps;
    const auto kernel = shared() ? (fetches() ? add_words<true, true> : add_words<true, false>)
                                 : (fetches() ? add_words<false, true> : add_words<false, false>);
    return bench().time_kernel(steps, [&] { kernel<<<shape().blocks, shape().threads, 0, stream()>>>(a); });
  }
  // The old values of words that one thread has by itself; those of a common word come in any order, and only their sum
  // is known.
  std::uint32_t expected(std::uint32_t, std::uint32_t, std::uint64_t steps) const override {
    return fetches() ? static_cast<std::uint32_t>(sum_below(steps * ilp)) : 0;
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    const auto words = read<std::uint32_t>(words_.data(), blocks_of_words() * own_words());
    if (auto why = patterns::wrong_words(shape(), question().space, steps_, words)) return why;
    if (shape().stride != 0 || !fetches()) return SumsRunner::wrong_result();
    return patterns::wrong_old_values(shape(), question().space, steps_, read<std::uint32_t>(results(), threads()));
  }

  Buffer words_;
  std::uint32_t steps_ = 0;  // of the last run
};

const Cuda atomics_probe({{.name = "atomics",
                           .open = runs<AtomicsRunner>,
                           .limit = [](const ProbeCase&, const Layout&) -> Limit {
                             return {not_measured, "unknown: neither driver nor guide gives a rate of atomics"};
                           },
                           .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                             return {0, patterns::atomic_bytes(steps)};
                           }}});

}  // namespace
}  // namespace npgpu::cuda
