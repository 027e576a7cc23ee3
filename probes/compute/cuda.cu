// Multiply-adds in registers: x = x*a + a, `ilp` chains per thread, nothing else in the loop.
//
// `a` stands there twice, because a chain with three different registers can wait for a register bank, and one with two
// cannot. `a` is an argument, so that the compiler cannot shorten the chain. With a = 1 a chain counts its own steps
// exactly, x0 + n; where the type cannot count so far, a = -1 makes x alternate between x0 and -1 - x0, and the number
// of steps is odd in every repeat. With a = 0 all numbers are zeros from the first step on.
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/compute/registers.cuh"
#include "probes/cuda.hpp"
#include "probes/shapes.hpp"

namespace npgpu::cuda {

namespace {

// Steps of one chain in one repeat, which is one round of the kernel's loop: odd, and so many that the loop's own three
// instructions are under 1 % of the round.
__host__ __device__ constexpr unsigned chain_steps(unsigned ilp) { return 512 / ilp + 1; }

__device__ long long first_value(unsigned thread, unsigned chain) { return (thread & 15) + chain; }

template <class Type, unsigned ilp> __global__ void __launch_bounds__(1024) chains(Run run) {
  constexpr unsigned steps = chain_steps(ilp);
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const typename Type::Word a = Type::of(run.a);
  typename Type::Word x[ilp];
#pragma unroll
  for (unsigned i = 0; i < ilp; ++i) x[i] = Type::of(first_value(thread, i));

  const BlockClock clock(true);
#pragma unroll 1
  for (unsigned round = 0; round < run.rounds; ++round) {
#pragma unroll
    for (unsigned step = 0; step < steps; ++step) {
#pragma unroll
      for (unsigned i = 0; i < ilp; ++i) Type::step(x[i], a);
    }
  }
  clock.write(run.records, run.launch);

  Bits all = 0;
#pragma unroll
  for (unsigned i = 0; i < ilp; ++i) all ^= Type::bits(x[i]);
  run.results[thread] = all;
}

// The thread with the smallest number whose result is wrong.
template <class Type>
__global__ void check_chains(const Bits* results, unsigned threads, unsigned ilp, int a, std::uint64_t steps,
                             unsigned* first_wrong) {
  for (unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < threads; t += gridDim.x * blockDim.x) {
    Bits all = 0;
    for (unsigned i = 0; i < ilp; ++i) {
      const long long x0 = first_value(t, i);
      const long long x = a == 0 ? 0 : a == 1 ? x0 + static_cast<long long>(steps) : steps % 2 ? -1 - x0 : x0;
      all ^= Type::bits(Type::of(x));
    }
    if (results[t] != all) atomicMin(first_wrong, t);
  }
}

using Chains = void (*)(Run);
using Check = void (*)(const Bits*, unsigned, unsigned, int, std::uint64_t, unsigned*);

struct Launch {
  unsigned blocks, threads;
  cudaStream_t stream;
};

// Random operands of one type: null where it has none.
struct MixedCode {
  void (*chains)(const Launch&, const Run&) = nullptr;
  void (*check)(const Bits* results, unsigned threads, std::uint64_t rounds, unsigned* first_wrong,
                cudaStream_t) = nullptr;
};

template <class Type> MixedCode mixed_code_of() {
  using Word = typename Type::Word;
  return {[](const Launch& at, const Run& run) {
            mixed::chains<Type><<<at.blocks, at.threads, 0, at.stream>>>(run, mixed::numbers<Word>());
          },
          [](const Bits* results, unsigned threads, std::uint64_t rounds, unsigned* first_wrong, cudaStream_t stream) {
            mixed::Numbers<Word> ends = mixed::numbers<Word>();
            const auto found = mixed::ends(ends, rounds);
            for (unsigned i = 0; i < mixed::starts; ++i) ends.start[i] = found[i];
            mixed::check<Type><<<256, 256, 0, stream>>>(results, threads, ends, first_wrong);
          }};
}

struct Code {
  Chains by_ilp[4];  // 1, 2, 4, 8
  Check check;
  int elements;
  std::uint64_t counts_to;
};

template <class Type> Code code_of() {
  return {{chains<Type, 1>, chains<Type, 2>, chains<Type, 4>, chains<Type, 8>},
          check_chains<Type>,
          Type::elements,
          Type::counts_to};
}

Code code_of(DataType type) {
  if (type == DataType::fp64) return code_of<Fp64>();
  if (type == DataType::int32) return code_of<Int32>();
  if (type == DataType::fp16) return code_of<Fp16>();
  if (type == DataType::bf16) return code_of<Bf16>();
  return code_of<Fp32>();
}

MixedCode mixed_code_of(DataType type) {
  if (type == DataType::fp32) return mixed_code_of<Fp32>();
  if (type == DataType::fp64) return mixed_code_of<Fp64>();
  if (type == DataType::int32) return mixed_code_of<Int32>();
  return {};
}

// Where the kernel of so many chains is; nothing if there is none.
std::optional<unsigned> index_of(unsigned ilp) {
  for (unsigned i = 0; i < 4; ++i)
    if (ilp == 1u << i) return i;
  return std::nullopt;
}

class ComputeRunner final : public CudaProbeRunner {
 public:
  ComputeRunner(const Probe& probe, std::span<const ProbeStep> steps)
      : CudaProbeRunner(probe, steps), verdict_(Memory::device, sizeof(unsigned)) {}

  double work() const override {
    return 2.0 * static_cast<double>(threads()) * shape().ilp * steps_of_repeat() * code_.elements;
  }

 private:
  void set_up() override {
    bench().gpu().make_current();
    code_ = code_of(question().type);
    mixed_ = shape().operands == Operands::random ? mixed_code_of(question().type) : MixedCode{};
    kernel_ = code_.by_ilp[*index_of(shape().ilp)];
    steps_ = shared_bytes_ = 0;
    if (shape().one_block_per_sm) {
      shared_bytes_ = shared_bytes_to_be_alone(bench().gpu().ordinal());
      cuda::check(
          cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
          "asking for shared memory that leaves room for one block only");
    }
    const std::uint64_t bytes = threads() * sizeof(Bits);
    if (results_.bytes() < bytes) results_ = Buffer(Memory::device, bytes);
    timed(0);
  }
  ProbeSample launch(std::uint64_t repeats) override {
    if (repeats > 0xffffffff) throw Error(ErrorKind::usage, "probe compute: at most 2^32 - 1 repeats");
    bench().gpu().make_current();
    steps_ = repeats * steps_of_repeat();
    a_ = steps_ + 64 < code_.counts_to ? 1 : -1;
    if (shape().operands == Operands::zeros) a_ = 0;
    cuda::check(cudaMemsetAsync(results_.data(), 0xA5, threads() * sizeof(Bits), stream()), "poisoning the results");
    return timed(static_cast<unsigned>(repeats));
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    auto* const verdict = reinterpret_cast<unsigned*>(verdict_.data());
    cuda::check(cudaMemsetAsync(verdict, 0xff, sizeof(unsigned), stream()), "preparing the check");
    const auto* const results = reinterpret_cast<const Bits*>(results_.data());
    const auto all = static_cast<unsigned>(threads());
    if (mixed_.check) mixed_.check(results, all, steps_ / mixed::steps_of_round, verdict, stream());
    else code_.check<<<256, 256, 0, stream()>>>(results, all, shape().ilp, a_, steps_, verdict);
    cuda::check(cudaGetLastError(), "checking the chains");
    unsigned first_wrong = 0;
    cuda::check(cudaMemcpyAsync(&first_wrong, verdict, sizeof first_wrong, cudaMemcpyDeviceToHost, stream()),
                "reading the check's verdict");
    cuda::check(cudaStreamSynchronize(stream()), "checking the chains");
    if (first_wrong == 0xffffffff) return std::nullopt;
    return "the chains of thread " + std::to_string(first_wrong) + " of " + std::to_string(threads()) +
           " are not what " + std::to_string(steps_) + " steps leave";
  }
  // Also without a round: the driver loads a kernel at its first launch, which no trial should wait for.
  ProbeSample timed(unsigned rounds) {
    const Run args{.a = a_,
                   .rounds = rounds,
                   .results = reinterpret_cast<Bits*>(results_.data()),
                   .records = bench().record(shape().blocks),
                   .launch = bench().launch()};
    return bench().time_kernel(rounds, [&] {
      if (mixed_.chains) mixed_.chains({shape().blocks, shape().threads, stream()}, args);
      else kernel_<<<shape().blocks, shape().threads, shared_bytes_, stream()>>>(args);
    });
  }
  unsigned steps_of_repeat() const { return mixed_.chains ? mixed::steps_of_round : chain_steps(shape().ilp); }
  std::uint64_t threads() const { return std::uint64_t{shape().blocks} * shape().threads; }

  Code code_{};
  MixedCode mixed_;
  Buffer verdict_, results_;
  Chains kernel_ = nullptr;
  std::uint32_t shared_bytes_ = 0;
  std::uint64_t steps_ = 0;  // of one chain in the last run
  int a_ = 1;
};

std::optional<std::string> lacks_bf16(const ProbeCase& c) {
  if (c.type != DataType::bf16 || capability_of(c) >= 80) return std::nullopt;
  return c.device + " has no bf16 arithmetic, which needs compute capability 8.0";
}
std::optional<std::string> refuses_chains(const ProbeCase&, const Shape& shape) {
  if (shape.operands == Operands::random && (shape.ilp != mixed::ilp || shape.one_block_per_sm))
    return "random operands are those of 8 chains per thread";
  if (!index_of(shape.ilp)) return std::to_string(shape.ilp) + " chains per thread: it takes 1, 2, 4 or 8";
  if (std::uint64_t{shape.blocks} * shape.threads > 0x7fffffff) return "more threads than a check can number";
  return std::nullopt;
}
bool takes_of_compute(const ProbeCase& c, Operands operands) {
  if (operands == Operands::random) return mixed_code_of(c.type).chains != nullptr;
  return operands == Operands::usual || operands == Operands::zeros;
}

const Cuda compute_probe({{.name = "compute",
                           .open = runs<ComputeRunner>,
                           .refuses_case = refuses_gpu_compute,
                           .lacks = lacks_bf16,
                           .refuses = refuses_chains,
                           .limit = limit_of_arithmetic,
                           .takes = takes_of_compute}});

}  // namespace
}  // namespace npgpu::cuda
