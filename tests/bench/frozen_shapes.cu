// Kernels over shapes that were drawn once, by a seed, before any figure was fitted to them: several waves and parts of
// one, limited by registers and by shared memory, operations, memory and both. kernel_times.py compares their times
// with what npgpu predicts.
//
//   npgpu_bench_frozen_shapes [seed] > shapes.csv
#include <cmath>
#include <random>

#include "counted_kernel.cuh"

namespace {

template <class T> __device__ T multiply_add(T a, T b, T c) { return a * b + c; }
template <> __device__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
template <> __device__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// `steps` times 64 operations in each of `chains` chains.
template <class T, int chains> __global__ void compute(T b, T c, int steps, T* end) {
  T a[chains];
  for (int i = 0; i < chains; ++i) a[i] = static_cast<T>(threadIdx.x + i);
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int n = 0; n < (chains > 16 ? 4 : 64); ++n)
#pragma unroll
      for (int i = 0; i < chains; ++i) a[i] = multiply_add(a[i], b, c);
  T sum = 0;
  for (int i = 0; i < chains; ++i) sum += a[i];
  if (sum == static_cast<T>(12345)) *end = sum;
}

enum class Op { read, write, copy, increment, triad };
constexpr const char* names_of_ops[] = {"read", "write", "copy", "increment", "triad"};

__device__ float sum_of(float v) { return v; }
__device__ float sum_of(float2 v) { return v.x + v.y; }
__device__ float sum_of(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ float plus(float a, float b) { return a + b; }
__device__ float2 plus(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float4 plus(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

// Every thread moves `words` words, a grid apart, and `steps` times so.
template <class T, Op op, int words> __global__ void move(T* a, T* b, T* c, int steps, float* end) {
  const std::size_t grid = std::size_t{gridDim.x} * blockDim.x;
  std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  T one{}, total{};
#pragma unroll 1  // as many in flight as is said
  for (int s = 0; s < steps; ++s, at += words * grid) {
    T x[words], y[words];
#pragma unroll
    for (int i = 0; i < words; ++i) {
      if (op != Op::write) x[i] = b[at + i * grid];
      if (op == Op::triad) y[i] = c[at + i * grid];
    }
#pragma unroll
    for (int i = 0; i < words; ++i) {
      if (op == Op::read) total = plus(total, x[i]);
      else if (op == Op::increment) b[at + i * grid] = plus(x[i], one);
      else a[at + i * grid] = op == Op::write ? one : op == Op::copy ? x[i] : plus(x[i], y[i]);
    }
  }
  if (op == Op::read && sum_of(total) == 12345) *end = 1;
}

// A word in, `operations` multiply-adds on it, a word out; `words` of them independent.
template <class T, int words> __global__ void both(T* a, const T* b, int operations, T f) {
  const std::size_t grid = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  T x[words];
#pragma unroll
  for (int i = 0; i < words; ++i) x[i] = b[at + i * grid];
#pragma unroll 16
  for (int n = 0; n < operations; ++n)
#pragma unroll
    for (int i = 0; i < words; ++i) x[i] = multiply_add(x[i], f, f);
#pragma unroll
  for (int i = 0; i < words; ++i) a[at + i * grid] = x[i];
}

struct Draw {
  std::mt19937 random;
  template <class T> T of(std::initializer_list<T> values) { return values.begin()[random() % values.size()]; }
  double log_between(double low, double high) { return low * std::pow(high / low, random() / 4294967296.0); }
};

struct Shape {
  std::size_t blocks;
  int threads;
  std::size_t shared;
};
template <class Kernel> Shape draw_shape(Draw& draw, Kernel* kernel, double fewest, double most) {
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, 0), "asking for the device");
  cudaFuncAttributes attributes{};
  must(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)), "asking for a kernel");
  for (;;) {
    const int threads = draw.of({32, 64, 96, 128, 192, 256, 384, 512, 768, 1024});
    const std::size_t shared = draw.of<std::size_t>({0, 0, 0, 0, 8 << 10, 24 << 10, 48 << 10, 100 << 10});
    const double waves = draw.log_between(fewest, most);
    if (attributes.numRegs * threads > 65536 || threads > attributes.maxThreadsPerBlock) continue;
    if (shared > 48 << 10)
      must(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(shared)),
           "asking for shared memory");
    int resident = 0;
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared), "asking for occupancy");
    if (resident < 1) continue;
    const double slots = double(resident) * properties.multiProcessorCount;
    return {std::max<std::size_t>(2, static_cast<std::size_t>(waves * slots)), threads, shared};
  }
}

template <class T, int chains> void time_compute(Draw& draw, const char* type, float* end) {
  const auto kernel = compute<T, chains>;
  const Shape s = draw_shape(draw, kernel, 0.03, 5);
  const int steps = chains > 16 ? 128 : std::max(32, 256 / chains);
  const double each = double(steps) * chains * (chains > 16 ? 4 : 64);
  const Counted c{.name = "compute " + std::string(type),
                  .type = type,
                  .flops = 2 * each * double(s.blocks) * s.threads,
                  .in_flight = chains,
                  .registers_read = sizeof(T) > 4 ? 2 : 3};  // a parameter of 8 B is no register
  time_kernel(c, kernel, s.blocks, s.threads, s.shared, [&](unsigned blocks, unsigned threads, std::size_t shared) {
    kernel<<<blocks, threads, shared>>>(T(3), T(1), steps, reinterpret_cast<T*>(end));
  });
}
template <class T> void time_compute(Draw& draw, const char* type, float* end) {
  switch (draw.of({1, 1, 2, 4, 8, 64})) {
    case 1: return time_compute<T, 1>(draw, type, end);
    case 2: return time_compute<T, 2>(draw, type, end);
    case 4: return time_compute<T, 4>(draw, type, end);
    case 8: return time_compute<T, 8>(draw, type, end);
    default: return time_compute<T, (sizeof(T) > 4 ? 40 : 64)>(draw, type, end);
  }
}

template <class T, Op op, int words> void time_move(Draw& draw, Windows& windows, float* end) {
  const auto kernel = move<T, op, words>;
  const bool walks = draw.random() % 2;
  const Shape s = walks ? draw_shape(draw, kernel, 0.05, 4) : draw_shape(draw, kernel, 4, 60);
  const double each = sizeof(T) * words * double(s.blocks) * s.threads;
  const int steps = walks ? std::max(1, static_cast<int>(draw.log_between(64e6, 512e6) / each)) : 1;
  const double reads = op == Op::write ? 0 : op == Op::triad ? 2 : 1, writes = op == Op::read ? 0 : 1;
  // Loads for each wait. The compiler (nvcc 13.0, sm_90) splits the widest steps, says their machine code: it loads two
  // words, adds them, and loads two more; of triad's eight the last waits for the others.
  const bool is_split = words == 4 && sizeof(T) == 16 && (op == Op::read || op == Op::triad);
  const int in_flight = int(std::max(1.0, reads)) * words / (is_split ? 2 : 1);
  const Counted c{.name = std::string("memory ") + names_of_ops[int(op)] + (steps > 1 ? " walking" : ""),
                  .bytes = (reads + writes) * each * steps,
                  .written = writes * each * steps,
                  .word = sizeof(T),
                  .in_flight = in_flight};
  const std::size_t elements = static_cast<std::size_t>(each * steps / sizeof(T));
  time_kernel(c, kernel, s.blocks, s.threads, s.shared, [&](unsigned blocks, unsigned threads, std::size_t shared) {
    T* const a = windows.next<T>(elements);
    T* const b = windows.next<T>(elements);
    kernel<<<blocks, threads, shared>>>(a, b, windows.next<T>(elements), steps, end);
  });
}
template <class T, Op op> void time_move(Draw& draw, Windows& w, float* end) {
  switch (draw.of({1, 2, 4})) {
    case 1: return time_move<T, op, 1>(draw, w, end);
    case 2: return time_move<T, op, 2>(draw, w, end);
    default: return time_move<T, op, 4>(draw, w, end);
  }
}
template <class T> void time_move(Draw& draw, Windows& w, float* end) {
  switch (static_cast<Op>(draw.random() % 5)) {
    case Op::read: return time_move<T, Op::read>(draw, w, end);
    case Op::write: return time_move<T, Op::write>(draw, w, end);
    case Op::copy: return time_move<T, Op::copy>(draw, w, end);
    case Op::increment: return time_move<T, Op::increment>(draw, w, end);
    case Op::triad: return time_move<T, Op::triad>(draw, w, end);
  }
}

template <class T, int words> void time_both(Draw& draw, Windows& windows, const char* type) {
  const auto kernel = both<T, words>;
  const Shape s = draw_shape(draw, kernel, 4, 60);
  const int operations = 16 * std::max(1, static_cast<int>(draw.log_between(1, 16)));
  const double elements = double(words) * s.blocks * s.threads;
  const Counted c{.name = "mixed " + std::string(type),
                  .type = type,
                  .flops = 2.0 * operations * elements,
                  .bytes = 2 * sizeof(T) * elements,
                  .written = sizeof(T) * elements,
                  .word = sizeof(T),
                  .in_flight = words,
                  .registers_read = 2};
  time_kernel(c, kernel, s.blocks, s.threads, s.shared, [&](unsigned blocks, unsigned threads, std::size_t shared) {
    T* const a = windows.next<T>(static_cast<std::size_t>(elements));
    kernel<<<blocks, threads, shared>>>(a, windows.next<T>(static_cast<std::size_t>(elements)), operations, T(0.5));
  });
}

}  // namespace

int main(int argc, char** argv) {
  Draw draw{std::mt19937(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20261129u)};
  float* end = nullptr;
  must(cudaMalloc(&end, 64), "allocating");
  Windows windows(std::size_t{4} << 30);
  print_header();
  for (int i = 0; i < 30; ++i) time_compute<float>(draw, "fp32", end);
  for (int i = 0; i < 20; ++i) time_compute<double>(draw, "fp64", end);
  for (int i = 0; i < 20; ++i) time_compute<int>(draw, "int32", end);
  for (int i = 0; i < 25; ++i) time_move<float>(draw, windows, end);
  for (int i = 0; i < 25; ++i) time_move<float2>(draw, windows, end);
  for (int i = 0; i < 30; ++i) time_move<float4>(draw, windows, end);
  for (int i = 0; i < 15; ++i) time_both<float, 1>(draw, windows, "fp32");
  for (int i = 0; i < 15; ++i) time_both<float, 4>(draw, windows, "fp32");
  for (int i = 0; i < 10; ++i) time_both<double, 2>(draw, windows, "fp64");
  (void)cudaFree(end);
}
