// Products of small matrices by tensor cores: by one warp from registers (mma.sync, compute capability 8.0 and later),
// and on Hopper by four warps from shared memory (wgmma), without which its tensor cores reach little over half their
// rate.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>
#include <utility>

#include "probes/cuda.hpp"
#include "probes/tensor/tiles.hpp"
#include "probes/tensor/wgmma.hpp"

namespace npgpu::cuda {

namespace {

using tensor::Tiles;

// One a type: what a lane holds of A (16 rows) and of B (8 columns), by the PTX ISA's figures for mma. Of A these are
// parts of the rows lane / 4 and lane / 4 + 8, of B parts of the column lane / 4.

// Types of 1, 2 and 4 bytes have rows of 8 words. A lane holds the words lane % 4 and lane % 4 + 4.
template <class D> struct Words {
  using Element = D;
  struct A {
    std::uint32_t of[4];
  };
  struct B {
    std::uint32_t of[2];
  };
  static __device__ std::uint32_t word(const void* rows, unsigned row, unsigned i) {
    return static_cast<const std::uint32_t*>(rows)[row * 8 + i];
  }
  static __device__ A load_a(const void* rows, unsigned lane) {
    const unsigned row = lane / 4, i = lane % 4;
    return {{word(rows, row, i), word(rows, row + 8, i), word(rows, row, i + 4), word(rows, row + 8, i + 4)}};
  }
  static __device__ B load_b(const void* columns, unsigned first, unsigned lane) {
    return {{word(columns, first + lane / 4, lane % 4), word(columns, first + lane / 4, lane % 4 + 4)}};
  }
};

#define NPGPU_MMA(instruction, c)                                                                                 \
  asm volatile("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+" c(d[0]), "+" c(d[1]), "+" c(d[2]), "+" c(d[3])                                               \
               : "r"(a.of[0]), "r"(a.of[1]), "r"(a.of[2]), "r"(a.of[3]), "r"(b.of[0]), "r"(b.of[1]))

struct Fp16 : Words<float> {
  static __device__ void multiply(float (&d)[4], const A& a, const B& b) {
    NPGPU_MMA("m16n8k16.row.col.f32.f16.f16.f32", "f");
  }
};
struct Bf16 : Words<float> {
  static __device__ void multiply(float (&d)[4], const A& a, const B& b) {
    NPGPU_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
  }
};
struct Tf32 : Words<float> {
  static __device__ void multiply(float (&d)[4], const A& a, const B& b) {
    NPGPU_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "f");
  }
};
struct Int8 : Words<int> {
  static __device__ void multiply(int (&d)[4], const A& a, const B& b) {
    NPGPU_MMA("m16n8k32.row.col.s32.s8.s8.s32", "r");
  }
};
struct Fp8 : Words<float> {
  static __device__ void multiply(float (&d)[4], const A& a, const B& b) {
#if __CUDA_ARCH__ >= 890
    NPGPU_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f");
#else
    (void)d, (void)a, (void)b;
    __trap();
#endif
  }
};
struct Fp64 {
  using Element = double;
  struct A {
    double of[8];
  };
  struct B {
    double of[4];
  };
  static __device__ A load_a(const void* rows, unsigned lane) {
    A a;
    for (unsigned i = 0; i < 8; ++i)
      a.of[i] = static_cast<const double*>(rows)[(lane / 4 + 8 * (i % 2)) * 16 + 4 * (i / 2) + lane % 4];
    return a;
  }
  static __device__ B load_b(const void* columns, unsigned first, unsigned lane) {
    B b;
    for (unsigned i = 0; i < 4; ++i)
      b.of[i] = static_cast<const double*>(columns)[(first + lane / 4) * 16 + 4 * i + lane % 4];
    return b;
  }
  static __device__ void multiply(double (&d)[4], const A& a, const B& b) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a.of[0]), "d"(a.of[1]), "d"(a.of[2]), "d"(a.of[3]), "d"(a.of[4]), "d"(a.of[5]), "d"(a.of[6]),
          "d"(a.of[7]), "d"(b.of[0]), "d"(b.of[1]), "d"(b.of[2]), "d"(b.of[3]));
#else  // eight products of 8 rows and a depth of 4
    for (unsigned i = 0; i < 8; ++i)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(d[2 * (i % 2)]), "+d"(d[2 * (i % 2) + 1])
                   : "d"(a.of[i]), "d"(b.of[i / 2]));
#endif
  }
};
#undef NPGPU_MMA

// Each warp multiplies the same 16 rows by 8 columns a chain.
template <class Type, unsigned ilp>
__global__ void __launch_bounds__(1024) multiply_tiles(Tiles tiles, BlockRecord* records, std::uint32_t launch) {
#if __CUDA_ARCH__ >= 800
  const unsigned lane = threadIdx.x % 32;
  const typename Type::A a0 = Type::load_a(tiles.a0, lane), a1 = Type::load_a(tiles.a1, lane);
  typename Type::B b[ilp];
  typename Type::Element d[ilp][4];
#pragma unroll
  for (unsigned chain = 0; chain < ilp; ++chain) {
    b[chain] = Type::load_b(tiles.b, chain * tensor::warp_columns, lane);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) d[chain][i] = tensor::first(threadIdx.x, 4 * chain + i);
  }
  const BlockClock clock(true);
#pragma unroll 1
  for (std::uint32_t repeat = 0; repeat < tiles.repeats; ++repeat) {
#pragma unroll
    for (unsigned pair = 0; pair < tensor::pairs_of(Operation::mma); ++pair) {
#pragma unroll
      for (unsigned chain = 0; chain < ilp; ++chain) Type::multiply(d[chain], a0, b[chain]);
#pragma unroll
      for (unsigned chain = 0; chain < ilp; ++chain) Type::multiply(d[chain], a1, b[chain]);
    }
  }
  clock.write(records, launch);
  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned chain = 0; chain < ilp; ++chain) {
    Type::multiply(d[chain], a0, b[chain]);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      sum += tensor::weight(4 * chain + i) * static_cast<std::uint32_t>(static_cast<int>(d[chain][i]));
  }
  tiles.results[blockIdx.x * blockDim.x + threadIdx.x] = sum;
#else
  (void)tiles, (void)records, (void)launch;
  __trap();  // refuses_question() keeps this away from older devices
#endif
}

using Kernel = WgmmaKernel;

template <class Type> Kernel kernel_of(unsigned ilp) {
  if constexpr (!std::is_same_v<Type, Fp64>) {  // see tensor::shapes()
    if (ilp == 2) return multiply_tiles<Type, 2>;
    if (ilp == 4) return multiply_tiles<Type, 4>;
    if (ilp == 8) return multiply_tiles<Type, 8>;
  }
  return multiply_tiles<Type, 1>;
}

Kernel kernel_of(const ProbeCase& c, unsigned ilp) {
  if (c.operation == Operation::wgmma) return wgmma_kernel(c.type);
  switch (c.type) {
    case DataType::fp64: return kernel_of<Fp64>(ilp);
    case DataType::bf16: return kernel_of<Bf16>(ilp);
    case DataType::tf32: return kernel_of<Tf32>(ilp);
    case DataType::fp8: return kernel_of<Fp8>(ilp);
    case DataType::int8: return kernel_of<Int8>(ilp);
    default: return kernel_of<Fp16>(ilp);
  }
}

template <class T> void append(std::vector<unsigned char>& bytes, T value) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}
// All numbers are so small that no type rounds them.
void append(std::vector<unsigned char>& bytes, DataType type, int number) {
  const auto value = static_cast<float>(number);
  switch (type) {
    case DataType::fp64: return append(bytes, static_cast<double>(number));
    case DataType::fp16: return append(bytes, __float2half(value));
    case DataType::bf16: return append(bytes, __float2bfloat16(value));
    case DataType::fp8: return append(bytes, __nv_fp8_e4m3(value));
    case DataType::int8: return append(bytes, static_cast<std::int8_t>(number));
    default: return append(bytes, value);  // tf32 is read from an fp32's upper bits
  }
}

template <class Number> Buffer rows_of(DataType type, unsigned rows, Number number, cudaStream_t stream) {
  std::vector<unsigned char> bytes;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned k = 0; k < tensor::depth(type); ++k) append(bytes, type, number(row, k));
  Buffer buffer(Memory::device, bytes.size());
  cuda::check(cudaMemcpyAsync(buffer.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream),
              "filling the tiles");
  cuda::check(cudaStreamSynchronize(stream), "filling the tiles");  // before `bytes` goes
  return buffer;
}

class TensorRunner final : public SumsRunner {
 public:
  using SumsRunner::SumsRunner;
  double work() const override { return tensor::work(question(), shape()); }

 private:
  bool is_wgmma() const { return question().operation == Operation::wgmma; }
  unsigned pairs() const { return tensor::pairs_of(question().operation); }
  void set_up() override {
    bench().gpu().make_current();
    const DataType type = question().type;
    const unsigned depth = tensor::depth(type);
    range_ = tensor::range_of(shape().operands, type);
    if (const std::pair now(type, shape().operands); now != filled_) {
      const auto rows = [&](unsigned count, auto number) { return rows_of(type, count, number, stream()); };
      a0_ = rows(tensor::group_rows, [&](unsigned row, unsigned k) { return tensor::a0(row, k, range_); });
      a1_ = rows(tensor::group_rows, [&](unsigned row, unsigned k) { return tensor::a1(row, k, depth, range_); });
      b_ = rows(tensor::columns, [&](unsigned column, unsigned k) { return tensor::b(k, column, range_); });
      filled_ = now;
    }
    expect();
    make_ready();
  }
  // Computes each thread's word before any pair, and what a pair adds.
  void expect() {
    const unsigned depth = tensor::depth(question().type);
    const unsigned count = is_wgmma() ? tensor::columns / 2 : 4 * shape().ilp;
    without_.assign(shape().threads, 0);
    of_pair_.assign(shape().threads, 0);
    for (unsigned thread = 0; thread < shape().threads; ++thread) {
      const unsigned first_row = is_wgmma() ? thread / 32 % 4 * tensor::warp_rows : 0;
      for (unsigned i = 0; i < count; ++i) {
        const unsigned row = first_row + tensor::row_of(thread % 32, i), column = tensor::column_of(thread % 32, i);
        int last = tensor::first(thread, i);
        for (unsigned k = 0; k < depth; ++k) last += tensor::a0(row, k, range_) * tensor::b(k, column, range_);
        without_[thread] += tensor::weight(i) * static_cast<std::uint32_t>(last);
        if (range_.grows)
          of_pair_[thread] += tensor::weight(i) * static_cast<std::uint32_t>(tensor::b(row % depth, column, range_));
      }
    }
  }
  ProbeSample timed(std::uint32_t repeats) override {
    constexpr std::uint32_t exact = (1u << 24) - 1024;  // whole numbers of an fp32
    if (range_.grows && repeats > exact / (tensor::growth * pairs()))
      throw Error(ErrorKind::usage, "probe tensor: at most " + std::to_string(exact / (tensor::growth * pairs())) +
                                        " repeats, beyond which sums would be rounded");
    const Tiles tiles{.a0 = a0_.data(), .a1 = a1_.data(), .b = b_.data(), .repeats = repeats, .results = results()};
    const Kernel kernel = kernel_of(question(), shape().ilp);
    BlockRecord* const records = bench().record(shape().blocks);
    const std::uint32_t launch = bench().launch();
    return bench().time_kernel(
        repeats, [&] { kernel<<<shape().blocks, shape().threads, 0, stream()>>>(tiles, records, launch); });
  }
  std::uint32_t expected(std::uint32_t, std::uint32_t thread, std::uint64_t repeats) const override {
    return without_[thread] + static_cast<std::uint32_t>(repeats * pairs()) * of_pair_[thread];
  }

  Buffer a0_, a1_, b_;
  tensor::Range range_;
  std::optional<std::pair<DataType, Operands>> filled_;
  std::vector<std::uint32_t> without_, of_pair_;
};

std::optional<std::string> lacks_products(const ProbeCase& c) {
  const int capability = capability_of(c), least = c.type == DataType::fp8 ? 89 : 80;
  if (c.operation == Operation::wgmma && capability != 90)
    return c.device + " has no wgmma, which only compute capability 9.0 has";
  // The compiler makes Hopper's mma of fp8 from fp16 products, and leaves out those that it has seen before.
  if (c.operation == Operation::mma && c.type == DataType::fp8 && capability == 90)
    return "compute capability 9.0 has fp8 products by wgmma only";
  if (capability >= least) return std::nullopt;
  return c.device + " has no such products, which need compute capability " + (least == 89 ? "8.9" : "8.0");
}

const Cuda tensor_probe({{.name = "tensor",
                          .open = runs<TensorRunner>,
                          .lacks = lacks_products,
                          .limit = limit_of_tensor_cores,
                          .takes = [](const ProbeCase&, Operands operands) { return operands != Operands::pattern; }}});

}  // namespace
}  // namespace npgpu::cuda
