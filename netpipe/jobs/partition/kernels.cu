#include <algorithm>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/jobs/partition/kernels.hpp"

namespace npgpu::cuda {

namespace {

__device__ std::uint64_t own_thread() { return blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; }
__device__ std::uint64_t all_threads() { return gridDim.x * std::uint64_t{blockDim.x}; }

template <class Real> __global__ void stage1_kernel(partition::SubSystems systems) {
  if (own_thread() < systems.count) partition::stage1<Real>(systems, own_thread());
}
template <class Real> __global__ void stage3_kernel(partition::SubSystems systems) {
  if (own_thread() < systems.count) partition::stage3<Real>(systems, own_thread());
}

template <class Real> __global__ void fill_kernel(std::uint64_t size, Real* a, Real* b, Real* c, Real* d) {
  for (std::uint64_t i = own_thread(); i < size; i += all_threads()) {
    const partition::Row<Real> row = partition::row_of<Real>(i);
    a[i] = row.a;
    b[i] = row.b;
    c[i] = row.c;
    d[i] = row.d;
  }
}

__global__ void poison_kernel(std::uint32_t* words, std::uint64_t count) {
  for (std::uint64_t i = own_thread(); i < count; i += all_threads()) words[i] = 0xffffffffu;
}

constexpr unsigned long long infinity_bits = 0x7ff0000000000000ull;

template <class Real>
__global__ void backward_error_kernel(std::uint64_t size, const Real* a, const Real* b, const Real* c, const Real* d,
                                      const Real* x, unsigned long long* bits) {
  double worst = 0;
  bool finite = true;
  for (std::uint64_t i = own_thread(); i < size; i += all_threads()) {
    const double before = i > 0 ? double{a[i]} * double{x[i - 1]} : 0, own = double{b[i]} * double{x[i]},
                 after = i + 1 < size ? double{c[i]} * double{x[i + 1]} : 0, right = d[i];
    const double scale = fabs(before) + fabs(own) + fabs(after) + fabs(right);
    const double error = fabs(before + own + after - right);
    if (!isfinite(error)) finite = false;
    else if (error > 0) worst = fmax(worst, error / scale);
  }
  // Bits of numbers that are not negative are in the order of the numbers.
  atomicMax(bits, finite ? static_cast<unsigned long long>(__double_as_longlong(worst)) : infinity_bits);
}

constexpr unsigned threads = 256;
unsigned grid_of(std::uint64_t count) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((count + threads - 1) / threads, 1, 4096));
}

template <class Real>
void find_error(std::uint64_t size, const void* a, const void* b, const void* c, const void* d, const void* x,
                unsigned long long* bits, cudaStream_t stream) {
  backward_error_kernel<Real><<<grid_of(size), threads, 0, stream>>>(
      size, static_cast<const Real*>(a), static_cast<const Real*>(b), static_cast<const Real*>(c),
      static_cast<const Real*>(d), static_cast<const Real*>(x), bits);
  check(cudaGetLastError(), "comparing a solution");
}

template <class Real> void fill_arrays(std::uint64_t size, void* a, void* b, void* c, void* d, cudaStream_t stream) {
  fill_kernel<Real><<<grid_of(size), threads, 0, stream>>>(size, static_cast<Real*>(a), static_cast<Real*>(b),
                                                           static_cast<Real*>(c), static_cast<Real*>(d));
  check(cudaGetLastError(), "making a tridiagonal system");
}

}  // namespace

const void* stage_kernel(Precision type, bool is_stage3) {
  if (type == Precision::fp64)
    return reinterpret_cast<const void*>(is_stage3 ? stage3_kernel<double> : stage1_kernel<double>);
  return reinterpret_cast<const void*>(is_stage3 ? stage3_kernel<float> : stage1_kernel<float>);
}

void fill_rows(Precision type, std::uint64_t size, void* a, void* b, void* c, void* d, cudaStream_t stream) {
  if (type == Precision::fp64) fill_arrays<double>(size, a, b, c, d, stream);
  else fill_arrays<float>(size, a, b, c, d, stream);
}

void poison(void* memory, std::uint64_t bytes, cudaStream_t stream) {
  const std::uint64_t words = bytes / sizeof(std::uint32_t);
  if (words == 0) return;
  poison_kernel<<<grid_of(words), threads, 0, stream>>>(static_cast<std::uint32_t*>(memory), words);
  check(cudaGetLastError(), "spoiling memory");
}

void find_backward_error(Precision type, std::uint64_t size, const void* a, const void* b, const void* c, const void* d,
                         const void* x, unsigned long long* bits, cudaStream_t stream) {
  if (type == Precision::fp64) find_error<double>(size, a, b, c, d, x, bits, stream);
  else find_error<float>(size, a, b, c, d, x, bits, stream);
}

}  // namespace npgpu::cuda
