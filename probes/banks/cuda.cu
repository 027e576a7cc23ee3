// All lanes of a warp chase through shared memory; see shapes.hpp. Which words meet in a bank is in the data alone.

#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/banks/shapes.hpp"
#include "probes/cuda.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned loads_in_a_row = 16;

struct WordChase {
  const std::uint32_t* next;   // by word: the one that follows, in bytes
  const std::uint32_t* words;  // by pattern and lane, in bytes
  std::uint32_t count;
  std::uint32_t patterns;
  std::uint32_t loads;
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

// Addresses within shared memory, so that a load needs no sum. Each warp begins with another pattern.
__global__ void __launch_bounds__(1024) chase_banks(WordChase c) {
  extern __shared__ std::uint32_t bank_words[];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(bank_words));
  for (std::uint32_t i = threadIdx.x; i < c.count; i += blockDim.x) bank_words[i] = base + c.next[i];
  const std::uint32_t first = threadIdx.x / banks::lanes % c.patterns;
  std::uint32_t p = base + c.words[first * banks::lanes + threadIdx.x % banks::lanes];
  __syncthreads();
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t loads = c.loads; loads >= loads_in_a_row; loads -= loads_in_a_row) {
#pragma unroll
    for (unsigned i = 0; i < loads_in_a_row; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
  }
  c.results[blockIdx.x * blockDim.x + threadIdx.x] = p - base;
  clock.write(c.records, c.launch);
}

class BanksRunner final : public SumsRunner {
 public:
  BanksRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : SumsRunner(probe, steps), next_(Memory::device, max_bytes()), begin_(Memory::device, max_bytes()) {}
  double work() const override { return banks::work(question(), shape()); }

 private:
  void set_up() override {
    bench().gpu().make_current();
    words_ = banks::words_of(shape());
    for (std::uint32_t& word : words_) word *= banks::word_bytes;
    std::vector<std::uint32_t> next(words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i)
      next[words_[i] / banks::word_bytes] = words_[(i + banks::lanes) % words_.size()];
    copy(next_, next);
    copy(begin_, words_);
    make_ready();
  }
  void copy(Buffer& to, const std::vector<std::uint32_t>& from) {
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), from.size() * 4, cudaMemcpyHostToDevice, stream()),
                "laying out the words");
    cuda::check(cudaStreamSynchronize(stream()), "laying out the words");  // before `from` goes
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const std::uint64_t loads = std::uint64_t{repeats} * banks::loads_of_repeat;
    if (loads > UINT32_MAX) throw Error(ErrorKind::usage, "probe banks: at most 2^32 - 1 loads of a run");
    const WordChase chase{.next = reinterpret_cast<const std::uint32_t*>(next_.data()),
                          .words = reinterpret_cast<const std::uint32_t*>(begin_.data()),
                          .count = static_cast<std::uint32_t>(words_.size()),
                          .patterns = banks::patterns_of(shape()),
                          .loads = static_cast<std::uint32_t>(loads),
                          .results = results(),
                          .records = bench().record(shape().blocks),
                          .launch = bench().launch()};
    return bench().time_kernel(
        repeats, [&] { chase_banks<<<shape().blocks, shape().threads, shape().bytes, stream()>>>(chase); });
  }
  // Where its walk through the patterns leads.
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t repeats) const override {
    const std::uint64_t at = thread / banks::lanes + repeats * banks::loads_of_repeat;
    return words_[at % banks::patterns_of(shape()) * banks::lanes + thread % banks::lanes];
  }

  Buffer next_, begin_;
  std::vector<std::uint32_t> words_;  // in bytes
};

const Cuda banks_probe({{.name = "banks",
                         .open = runs<BanksRunner>,
                         .limit =
                             [](const ProbeCase& c, const Layout& l) {
                               return c.operation == Operation::chase
                                          ? Limit{not_measured, "none: a latency has no peak"}
                                          : limit_of_banks(l);
                             },
                         .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                           return {0, 2 * max_bytes_of(steps)};
                         }}});

}  // namespace
}  // namespace npgpu::cuda
