// Multiply-adds in registers: x = x*a + a, `ilp` chains a thread, nothing else in the loop.
//
// Why a twice: with three different registers a chain can wait for a register bank; with two it cannot.
// Why a is an argument: the compiler knows no shorter way to the result. With a = 1 a chain counts its own steps, x0 +
// n exactly; where the type cannot count so far, a = -1 makes x alternate between x0 and -1 - x0, and the number of
// steps is odd in every repeat.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/probe_bench.hpp"
#include "probes/block_clock.cuh"
#include "probes/shapes.hpp"

namespace npgpu::cuda {

namespace {

// Steps of one chain in one repeat, which is one round of the kernel's loop: odd, and so many that the loop's own three
// instructions are under 1 % of the round.
__host__ __device__ constexpr unsigned chain_steps(unsigned ilp) { return 512 / ilp + 1; }

using Bits = unsigned long long;

// One a type: its register, how many elements are in it, how far it counts exactly, and its multiply-add.
struct Fp32 {
  using Word = float;
  static constexpr int elements = 1;
  static constexpr std::uint64_t counts_to = 1u << 24;
  static __device__ Word of(long long v) { return static_cast<float>(v); }
  static __device__ Bits bits(Word x) { return __float_as_uint(x); }
  static __device__ void step(Word& x, Word a) { asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a)); }
};
struct Fp64 {
  using Word = double;
  static constexpr int elements = 1;
  static constexpr std::uint64_t counts_to = 1ull << 53;
  static __device__ Word of(long long v) { return static_cast<double>(v); }
  static __device__ Bits bits(Word x) { return static_cast<Bits>(__double_as_longlong(x)); }
  static __device__ void step(Word& x, Word a) { asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(x) : "d"(a)); }
};
struct Int32 {  // counts modulo 2^32, exactly
  using Word = unsigned;
  static constexpr int elements = 1;
  static constexpr std::uint64_t counts_to = ~0ull;
  static __device__ Word of(long long v) { return static_cast<unsigned>(v); }
  static __device__ Bits bits(Word x) { return x; }
  static __device__ void step(Word& x, Word a) { asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(a)); }
};
struct Fp16 {
  using Word = unsigned;
  static constexpr int elements = 2;
  static constexpr std::uint64_t counts_to = 0;
  static __device__ Word of(long long v) {
    const __half2 pair = __floats2half2_rn(static_cast<float>(v), static_cast<float>(v));
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  static __device__ Bits bits(Word x) { return x; }
  static __device__ void step(Word& x, Word a) { asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(a)); }
};
struct Bf16 {
  using Word = unsigned;
  static constexpr int elements = 2;
  static constexpr std::uint64_t counts_to = 0;
  static __device__ Word of(long long v) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(static_cast<float>(v), static_cast<float>(v));
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  static __device__ Bits bits(Word x) { return x; }
  static __device__ void step(Word& x, Word a) {
#if __CUDA_ARCH__ >= 800
    asm volatile("fma.rn.bf16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(a));
#else
    (void)x, (void)a;
    __trap();  // refuses() keeps this away from older devices
#endif
  }
};

struct Run {
  int a;  // 1 or -1
  unsigned rounds;
  Bits* results;  // one a thread: the exclusive or of its chains
  BlockRecord* records;
  std::uint32_t launch;
};

__device__ long long first_value(unsigned thread, unsigned chain) { return (thread & 15) + chain; }

template <class Type, unsigned ilp>
__global__ void __launch_bounds__(1024) chains(Run run) {
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
      const long long x = a == 1 ? x0 + static_cast<long long>(steps) : steps % 2 ? -1 - x0 : x0;
      all ^= Type::bits(Type::of(x));
    }
    if (results[t] != all) atomicMin(first_wrong, t);
  }
}

using Chains = void (*)(Run);
using Check = void (*)(const Bits*, unsigned, unsigned, int, std::uint64_t, unsigned*);

struct Code {
  Chains by_ilp[4];  // 1, 2, 4, 8
  Check check;
  int elements;
  std::uint64_t counts_to;
};

template <class Type>
Code code_of() {
  return {{chains<Type, 1>, chains<Type, 2>, chains<Type, 4>, chains<Type, 8>},
          check_chains<Type>,
          Type::elements,
          Type::counts_to};
}

Code code_of(DataType type) {
  switch (type) {
    case DataType::fp64:
      return code_of<Fp64>();
    case DataType::int32:
      return code_of<Int32>();
    case DataType::fp16:
      return code_of<Fp16>();
    case DataType::bf16:
      return code_of<Bf16>();
    case DataType::fp32:
      break;
  }
  return code_of<Fp32>();
}

int place_of(unsigned ilp) {
  for (int place = 0; place < 4; ++place)
    if (ilp == 1u << place) return place;
  throw Error(ErrorKind::usage, "probe compute: " + std::to_string(ilp) + " chains a thread: it takes 1, 2, 4 or 8");
}

class ComputeKernel final : public Runner<Probes> {
 public:
  explicit ComputeKernel(const ProbeCase& c)
      : bench_(ordinal_or_throw(c.device)), code_(code_of(c.type)), verdict_(Memory::device, sizeof(unsigned)) {}

  void prepare(const Shape& shape) override {
    check_grid(shape, "compute");
    bench_.make_current();
    kernel_ = code_.by_ilp[place_of(shape.ilp)];
    shape_ = shape;
    steps_ = 0;
    if (threads() > 0x7fffffff) throw Error(ErrorKind::usage, "probe compute: more threads than a check can number");
    shared_bytes_ = 0;
    if (shape.one_block_per_sm) {
      shared_bytes_ = shared_bytes_to_be_alone(bench_.ordinal());
      check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
            "asking for shared memory that keeps blocks alone");
    }
    const std::uint64_t bytes = threads() * sizeof(Bits);
    if (results_.bytes() < bytes) results_ = Buffer(Memory::device, bytes);
    launch(0);
  }

  double work() const override {
    return 2.0 * static_cast<double>(threads()) * shape_.ilp * chain_steps(shape_.ilp) * code_.elements;
  }

  RunTimes run(std::uint64_t repeats) override {
    if (repeats < 1 || repeats > 0xffffffff) throw Error(ErrorKind::usage, "probe compute: 1 to 2^32 - 1 repeats");
    bench_.make_current();
    steps_ = repeats * chain_steps(shape_.ilp);
    a_ = steps_ + 64 < code_.counts_to ? 1 : -1;
    check(cudaMemsetAsync(results_.data(), 0xA5, threads() * sizeof(Bits), bench_.stream()), "poisoning the results");
    return launch(static_cast<unsigned>(repeats));
  }

  std::optional<std::string> intact() override {
    bench_.make_current();
    if (!steps_) return "nothing has run since this shape was prepared";
    auto* const verdict = reinterpret_cast<unsigned*>(verdict_.data());
    check(cudaMemsetAsync(verdict, 0xff, sizeof(unsigned), bench_.stream()), "preparing the check");
    code_.check<<<256, 256, 0, bench_.stream()>>>(reinterpret_cast<const Bits*>(results_.data()),
                                                  static_cast<unsigned>(threads()), shape_.ilp, a_, steps_, verdict);
    check(cudaGetLastError(), "checking the chains");
    unsigned first_wrong = 0;
    check(cudaMemcpyAsync(&first_wrong, verdict, sizeof first_wrong, cudaMemcpyDeviceToHost, bench_.stream()),
          "reading the check's verdict");
    check(cudaStreamSynchronize(bench_.stream()), "checking the chains");
    if (first_wrong == 0xffffffff) return std::nullopt;
    return "the chains of thread " + std::to_string(first_wrong) + " of " + std::to_string(threads()) +
           " are not what " + std::to_string(steps_) + " steps leave";
  }

  const Clock& clock() const override { return bench_.clock(); }
  Telemetry telemetry() override { return bench_.telemetry(); }
  std::string binding() const override { return bench_.binding(); }

 private:
  // Also without a round: the driver loads a kernel at its first launch, which no trial should wait for.
  RunTimes launch(unsigned rounds) {
    const Run args{.a = a_,
                   .rounds = rounds,
                   .results = reinterpret_cast<Bits*>(results_.data()),
                   .records = bench_.record(shape_.blocks),
                   .launch = bench_.launch()};
    return bench_.time([&] { kernel_<<<shape_.blocks, shape_.threads, shared_bytes_, bench_.stream()>>>(args); }, true);
  }
  std::uint64_t threads() const { return std::uint64_t{shape_.blocks} * shape_.threads; }

  ProbeBench bench_;
  Code code_;
  Buffer verdict_;
  Buffer results_;
  Chains kernel_ = nullptr;
  Shape shape_;
  std::uint32_t shared_bytes_ = 0;
  std::uint64_t steps_ = 0;  // of one chain in the last run
  int a_ = 1;
};

class ComputeProbe final : public Probe {
 public:
  std::string_view name() const override { return "compute"; }
  std::string_view kind() const override { return "cuda"; }
  std::string_view summary() const override {
    return "multiply-adds in a GPU's registers, by blocks, threads and chains";
  }
  std::vector<DeviceInfo> devices() const override { return inventory(); }
  std::string why_none() const override { return why_no_device(); }

  std::vector<ProbeCase> cases(const std::string& device) const override {
    std::vector<ProbeCase> all;
    for (const DataType type : {DataType::fp32, DataType::fp64, DataType::int32, DataType::fp16, DataType::bf16}) {
      const ProbeCase c{.probe = "compute", .device = device, .type = type};
      if (!refuses(c)) all.push_back(c);
    }
    return all;
  }
  std::optional<std::string> refuses(const ProbeCase& c) const override {
    if (const auto why = why_not_there(c.device)) return why;
    if (c.operation != Operation::fma) return "probe compute asks for fma alone";
    if (c.space != Space::registers) return "probe compute works in registers alone";
    if (c.form != Form::streaming) return "probe compute has no dependent form: a shape with ilp 1 is one";
    if (c.type == DataType::bf16 && capability_of(*ordinal_of(c.device)) < 80)
      return c.device + " has no bf16 arithmetic: it takes compute capability 8.0";
    return std::nullopt;
  }
  Layout layout(const ProbeCase& c) const override { return layout_of(ordinal_or_throw(c.device)); }
  Limit peak(const ProbeCase& c) const override { return arithmetic_peak(c.type, ordinal_or_throw(c.device)); }
  std::vector<Shape> shapes(const ProbeCase& c) const override { return compute_shapes(layout(c)); }
  std::unique_ptr<Runner<Probes>> open(const ProbeCase& c, std::uint64_t) const override {
    if (const auto why = refuses(c)) throw Error(inventory().empty() ? ErrorKind::nothing : ErrorKind::usage, *why);
    return std::make_unique<ComputeKernel>(c);
  }
};

}  // namespace

}  // namespace npgpu::cuda

NPGPU_PROBE(npgpu::cuda::ComputeProbe)
