// Words of shared memory under a permutation; see shapes.hpp. Each thread has its eight places in registers, and reads
// them again and again.

#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/banks/shapes.hpp"
#include "probes/cuda_sums.hpp"

namespace npgpu::cuda {

namespace {

struct Permuted {
  Permutation order{banks::words};
  std::uint32_t rung = 0, steps = 0;
  std::uint32_t* results = nullptr;
  BlockRecord* records = nullptr;
  std::uint32_t launch = 0;
};

__global__ void __launch_bounds__(banks::threads) read_permuted(Permuted p) {
  extern __shared__ std::uint32_t words[];
  for (std::uint32_t i = threadIdx.x; i < banks::words; i += banks::threads) words[i] = pattern_word(i);
  std::uint32_t at[banks::reads], sum = 0;
#pragma unroll
  for (unsigned k = 0; k < banks::reads; ++k)
    at[k] = static_cast<std::uint32_t>(
        __cvta_generic_to_shared(words + banks::place(p.order, p.rung, k * banks::threads + threadIdx.x)));
  __syncthreads();
  const BlockClock clock(true);
#pragma unroll 2
  for (std::uint32_t step = 0; step < p.steps; ++step) {
    std::uint32_t x[banks::reads];
#pragma unroll
    for (unsigned k = 0; k < banks::reads; ++k) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x[k]) : "r"(at[k]));
#pragma unroll
    for (unsigned k = 0; k < banks::reads; ++k) sum += x[k];
  }
  clock.write(p.records, p.launch);
  p.results[blockIdx.x * banks::threads + threadIdx.x] = sum;
}

class BanksRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return banks::work(shape()); }

 private:
  void set_up() override {
    bench().gpu().make_current();
    shared_ = std::max(static_cast<std::uint32_t>(banks::set_bytes),
                       shared_bytes_to_be_alone(*ordinal_of(question().device)));
    cuda::check(
        cudaFuncSetAttribute(read_permuted, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_)),
        "giving blocks their shared memory");
    make_ready();
  }
  ProbeSample timed(std::uint32_t repeats) override {
    const std::uint64_t steps = repeats * banks::steps_of_repeat;
    if (steps > UINT32_MAX) throw Error(ErrorKind::usage, "probe banks: at most 2^32 - 1 steps");
    const Permuted p{.rung = shape().rung,
                     .steps = static_cast<std::uint32_t>(steps),
                     .results = results(),
                     .records = bench().record(shape().blocks),
                     .launch = bench().launch()};
    return bench().time_kernel(repeats,
                               [&] { read_permuted<<<shape().blocks, shape().threads, shared_, stream()>>>(p); });
  }
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t repeats) const override {
    const Permutation order(banks::words);
    std::uint64_t places = 0;
    for (std::uint32_t k = 0; k < banks::reads; ++k)
      places += banks::place(order, shape().rung, k * banks::threads + thread);
    return pattern_word(places * repeats * banks::steps_of_repeat);
  }

  std::uint32_t shared_ = 0;
};

class BanksProbe final : public CudaProbe {
 public:
  std::string_view name() const override { return "banks"; }
  std::string_view summary() const override {
    return "words of shared memory in order, and under permutations: conflicts of banks by chance";
  }
  std::optional<std::string> refuses_shape(const ProbeCase&, const Shape& shape) const override {
    if (auto why = refuses_grid(shape)) return why;
    return banks::refuses(shape);
  }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return banks::shapes(context(c).layout); }
  MemoryNeed needs(std::span<const ProbeStep>) const override { return {0, banks::set_bytes}; }
  std::unique_ptr<Runner<Probes>> open(std::span<const ProbeStep> steps) const override {
    return std::make_unique<BanksRunner>(*this, steps);
  }

 private:
  std::vector<ProbeCase> questions(const std::string& device) const override { return {banks::only_case(device)}; }
  std::optional<std::string> refuses_question(const ProbeCase& c) const override {
    if (c == banks::only_case(c.device)) return std::nullopt;
    return "probe banks has the operation read of fp32 words in shared memory";
  }
  Limit limit(const ProbeCase& c, int ordinal) const override {
    const Layout l = layout_of(ordinal);
    (void)c;
    return {128.0 * l.units * l.clock_mhz * 1e6,
            "32 banks of 4 bytes a cycle (CUDA C++ Programming Guide) * multiprocessors * highest clock"};
  }
};

}  // namespace
}  // namespace npgpu::cuda

NPGPU_REGISTERED(Probe, npgpu::cuda::BanksProbe)
