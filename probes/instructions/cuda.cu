// Single instructions, in chains; see shapes.hpp. Numbers that the chains begin with and the constants come as
// arguments, so that the compiler knows none of them; of 1/x it is 1/|x|, as two reciprocals in a row would be left
// out. Machine code (CUDA 13.0, sm_90): rcp, rsqrt and ex2 are a MUFU each, sin is FMUL and MUFU, lg2 two MUFUs; dpx is
// one VIADDMNMX. Of int64, two additions are three IADD3, and a product three IMADs and an IADD3. Of two chains via
// fp16 one F2FP goes there.

#include <cmath>
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/instructions/shapes.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned unrolled_steps = 32;

struct Chains {
  std::uint32_t begin, of_lane, of_chain, lanes;  // first() by its parts
  std::uint64_t factor, term;
  double plus, times;
  int one, least;
  std::uint32_t steps;
  std::uint32_t* results;
  BlockRecord* records;
  std::uint32_t launch;
};

__device__ std::uint32_t folded_word(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits) + static_cast<std::uint32_t>(bits >> 32);
}

// One a case: the type of a chain, its begin, and a step.
template <class T> struct Whole {
  using Number = T;
  static constexpr bool exact = true;
  static __device__ T begin(std::uint32_t x) { return static_cast<T>(x); }
};
template <class T> struct Approximate : Whole<T> { static constexpr bool exact = false; };

struct Rcp : Approximate<float> {
  static __device__ void step(float& x, const Chains&) {
    asm volatile("{\n.reg .f32 size;\nabs.f32 size, %0;\nrcp.approx.ftz.f32 %0, size;\n}" : "+f"(x));
  }
};
struct Rsqrt : Approximate<float> {
  static __device__ void step(float& x, const Chains&) { asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Sin : Approximate<float> {
  static __device__ void step(float& x, const Chains&) { asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x)); }
};
struct Ex2 : Approximate<float> {
  static __device__ void step(float& x, const Chains&) {
    asm volatile("{\n.reg .f32 minus;\nneg.f32 minus, %0;\nex2.approx.ftz.f32 %0, minus;\n}" : "+f"(x));
  }
};
struct Lg2 : Approximate<float> {
  static __device__ float begin(std::uint32_t x) { return static_cast<float>(x) / 16; }
  static __device__ void step(float& x, const Chains&) {
    asm volatile("ex2.approx.ftz.f32 %0, %0;\n\tlg2.approx.ftz.f32 %0, %0;" : "+f"(x));
  }
};
struct ViaFp64 : Whole<float> {
  static __device__ void step(float& x, const Chains&) {
    asm volatile("{\n.reg .f64 other;\ncvt.f64.f32 other, %0;\ncvt.rn.f32.f64 %0, other;\n}" : "+f"(x));
  }
};
struct ViaFp16 : Whole<float> {
  static __device__ void step(float& x, const Chains&) {
    asm volatile("{\n.reg .b16 other;\ncvt.rn.f16.f32 other, %0;\ncvt.f32.f16 %0, other;\n}" : "+f"(x));
  }
};
struct ViaInt32 : Whole<float> {
  static __device__ void step(float& x, const Chains&) {
    asm volatile("{\n.reg .s32 other;\ncvt.rzi.s32.f32 other, %0;\ncvt.rn.f32.s32 %0, other;\n}" : "+f"(x));
  }
};
struct AddFp64 : Whole<double> {
  static __device__ void step(double& x, const Chains& c) {
    asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(x) : "d"(c.plus));
  }
};
struct MulFp64 : Whole<double> {
  static __device__ void step(double& x, const Chains& c) {
    asm volatile("mul.rn.f64 %0, %0, %1;" : "+d"(x) : "d"(c.times));
  }
};
struct AddInt64 : Whole<std::uint64_t> {
  static __device__ void step(std::uint64_t& x, const Chains& c) {
    asm volatile("add.u64 %0, %0, %1;" : "+l"(x) : "l"(c.term));
  }
};
struct MulInt64 : Whole<std::uint64_t> {
  static __device__ void step(std::uint64_t& x, const Chains& c) {
    asm volatile("mul.lo.u64 %0, %0, %1;" : "+l"(x) : "l"(c.factor));
  }
};
struct Popc : Whole<std::uint32_t> {
  static __device__ void step(std::uint32_t& x, const Chains&) { asm volatile("popc.b32 %0, %0;" : "+r"(x)); }
};
struct Shuffle : Whole<std::uint32_t> {
  static __device__ void step(std::uint32_t& x, const Chains& c) {
    asm volatile("shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(x) : "r"(threadIdx.x + c.one));
  }
};
struct Dpx : Whole<int> {
  static __device__ void step(int& x, const Chains& c) { x = __viaddmax_s32(x, c.one, c.least); }
};

template <class Number> __device__ std::uint32_t word_of(Number x) {
  if constexpr (sizeof(Number) == 8) {
    std::uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return folded_word(bits);
  } else {
    std::uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
}

template <class Instruction, unsigned ilp> __global__ void __launch_bounds__(1024) run_chains(Chains c) {
  typename Instruction::Number x[ilp];
#pragma unroll
  for (unsigned k = 0; k < ilp; ++k)
    x[k] = Instruction::begin(c.begin + threadIdx.x % c.lanes * c.of_lane + k * c.of_chain);
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t step = 0; step < c.steps; step += unrolled_steps) {
#pragma unroll
    for (unsigned i = 0; i < unrolled_steps; ++i)
#pragma unroll
      for (unsigned k = 0; k < ilp; ++k) Instruction::step(x[k], c);
  }
  clock.write(c.records, c.launch);
  std::uint32_t word = 0;
  if constexpr (Instruction::exact) {
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) word += (2 * k + 1) * word_of(x[k]);
  } else {
    float sum = 0;
#pragma unroll
    for (unsigned k = 0; k < ilp; ++k) sum += x[k];
    word = word_of(sum);
  }
  c.results[blockIdx.x * blockDim.x + threadIdx.x] = word;
}

using ChainKernel = void (*)(Chains);
template <class Instruction> ChainKernel chains(unsigned ilp) {
  return ilp == 1 ? run_chains<Instruction, 1> : ilp == 2 ? run_chains<Instruction, 2> : run_chains<Instruction, 4>;
}
ChainKernel kernel_of(const ProbeCase& c, unsigned ilp) {
  const bool fp64 = c.type == DataType::fp64;
  switch (c.operation) {
    case Operation::rcp: return chains<Rcp>(ilp);
    case Operation::rsqrt: return chains<Rsqrt>(ilp);
    case Operation::sin: return chains<Sin>(ilp);
    case Operation::ex2: return chains<Ex2>(ilp);
    case Operation::lg2: return chains<Lg2>(ilp);
    case Operation::via_fp64: return chains<ViaFp64>(ilp);
    case Operation::via_fp16: return chains<ViaFp16>(ilp);
    case Operation::via_int32: return chains<ViaInt32>(ilp);
    case Operation::add: return fp64 ? chains<AddFp64>(ilp) : chains<AddInt64>(ilp);
    case Operation::mul: return fp64 ? chains<MulFp64>(ilp) : chains<MulInt64>(ilp);
    case Operation::popc: return chains<Popc>(ilp);
    case Operation::shuffle: return chains<Shuffle>(ilp);
    default: return chains<Dpx>(ilp);
  }
}

class InstructionsRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return instructions::work(question(), shape()); }

 private:
  ProbeSample timed(std::uint32_t repeats) override {
    if (repeats > UINT32_MAX / instructions::steps_of_repeat)
      throw Error(ErrorKind::usage, "probe instructions: at most " +
                                        std::to_string(UINT32_MAX / instructions::steps_of_repeat) + " repeats");
    const Chains c{.begin = instructions::first(0, 0),
                   .of_lane = 1,
                   .of_chain = instructions::first(0, 1) - instructions::first(0, 0),
                   .lanes = 32,
                   .factor = instructions::int64_factor,
                   .term = instructions::int64_term,
                   .plus = 1,
                   .times = -1,
                   .one = 1,
                   .least = 0,
                   .steps = repeats * instructions::steps_of_repeat,
                   .results = results(),
                   .records = bench().record(shape().blocks),
                   .launch = bench().launch()};
    const ChainKernel kernel = kernel_of(question(), shape().ilp);
    steps_ = c.steps;
    return bench().time_kernel(repeats, [&] { kernel<<<shape().blocks, shape().threads, 0, stream()>>>(c); });
  }
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t) const override {
    std::uint32_t word = 0;
    for (std::uint32_t k = 0; k < shape().ilp; ++k)
      word += (2 * k + 1) * instructions::word_after(question(), thread, k, steps_);
    return word;
  }
  std::optional<std::string> wrong_result() override {
    if (instructions::is_exact(question())) return SumsRunner::wrong_result();
    bench().gpu().make_current();
    const double far = instructions::tolerance(question(), steps_);
    double of_lane[32] = {};  // lanes of every warp begin alike
    for (std::uint32_t lane = 0; lane < 32; ++lane)
      for (std::uint32_t k = 0; k < shape().ilp; ++k)
        of_lane[lane] += instructions::value_after(question(), lane, k, steps_);
    const auto found = read<float>(results(), threads());
    for (std::uint32_t i = 0; i < found.size(); ++i)
      if (!(std::abs(found[i] - of_lane[i % 32]) <= far))
        return "thread " + std::to_string(i % shape().threads) + " of block " + std::to_string(i / shape().threads) +
               " left " + std::to_string(found[i]) + ", not " + std::to_string(of_lane[i % 32]) + " to " +
               std::to_string(far);
    return std::nullopt;
  }

  std::uint64_t steps_ = 0;  // of the last run
};

const Cuda instructions_probe(
    {{.name = "instructions", .open = runs<InstructionsRunner>, .limit = [](const ProbeCase&, const Layout&) -> Limit {
        return {not_measured, "unknown: this program has no rates of single instructions"};
      }}});

}  // namespace
}  // namespace npgpu::cuda
