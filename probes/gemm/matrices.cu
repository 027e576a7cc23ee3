#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "probes/gemm/cublas.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned blocks = 1024, threads = 256;

__device__ std::uint64_t first_place() { return blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; }
__device__ std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * blockDim.x; }

// A matrix of so many rows and columns, column by column or, transposed, row by row.
template <class T, class Element>
__device__ void fill(T* to, std::uint32_t rows, std::uint32_t columns, bool transposed, Element element) {
  const std::uint64_t all = std::uint64_t{rows} * columns, inner = transposed ? columns : rows;
  for (std::uint64_t i = first_place(); i < all; i += all_threads()) {
    const auto in = static_cast<std::uint32_t>(i % inner), out = static_cast<std::uint32_t>(i / inner);
    to[i] = static_cast<T>(static_cast<float>(transposed ? element(out, in) : element(in, out)));  // exact
  }
}

template <class T>
__global__ void fill_both(T* a, T* b, std::uint32_t m, std::uint32_t n, gemm::Elements e, bool transpose_a,
                          bool transpose_b) {
  fill(a, m, e.k, transpose_a, [&](std::uint32_t row, std::uint32_t column) { return e.left(row, column); });
  fill(b, e.k, n, transpose_b, [&](std::uint32_t row, std::uint32_t column) { return e.right(row, column); });
}

template <class T> __global__ void fill_c(T* c, std::uint32_t m, std::uint32_t n) {
  fill(c, m, n, false, [](std::uint32_t row, std::uint32_t column) { return gemm::first_of_c(row, column); });
}

template <class T>
__global__ void find_first_wrong(const T* c, std::uint32_t m, std::uint32_t n, gemm::Product product,
                                 gemm::Update update, unsigned long long* place) {
  const std::uint64_t all = std::uint64_t{m} * n;
  for (std::uint64_t i = first_place(); i < all; i += all_threads()) {
    const auto row = static_cast<std::uint32_t>(i % m), column = static_cast<std::uint32_t>(i / m);
    const auto right = static_cast<T>(update.of(product(row, column), gemm::first_of_c(row, column)));
    if (!(c[i] == right)) atomicMin(place, static_cast<unsigned long long>(i));
  }
}

// Calls visit with a value of the type of C.
template <class Visit> void of_result(DataType type, Visit visit) {
  if (type == DataType::fp64) visit(double{});
  else if (type == DataType::int8) visit(std::int32_t{});
  else visit(float{});
}

}  // namespace

void fill_operands(const ProbeCase& c, const Shape& s, void* a, void* b, cudaStream_t stream) {
  const gemm::Elements e = gemm::elements_of(c, s);
  const auto fill = [&]<class T>(T*) {
    fill_both<<<blocks, threads, 0, stream>>>(static_cast<T*>(a), static_cast<T*>(b), s.m, s.n, e, transposes_a(s.ops),
                                              transposes_b(s.ops));
  };
  switch (c.type) {
    case DataType::fp64: fill(static_cast<double*>(nullptr)); break;
    case DataType::fp16: fill(static_cast<__half*>(nullptr)); break;
    case DataType::bf16: fill(static_cast<__nv_bfloat16*>(nullptr)); break;
    case DataType::fp8: fill(static_cast<__nv_fp8_e4m3*>(nullptr)); break;
    case DataType::int8: fill(static_cast<std::int8_t*>(nullptr)); break;
    default: fill(static_cast<float*>(nullptr));
  }
  cuda::check(cudaGetLastError(), "filling matrices");
}

void fill_first(const ProbeCase& c, const Shape& s, void* to, cudaStream_t stream) {
  of_result(c.type, [&]<class T>(T) { fill_c<<<blocks, threads, 0, stream>>>(static_cast<T*>(to), s.m, s.n); });
  cuda::check(cudaGetLastError(), "filling C");
}

void find_wrong(const ProbeCase& c, const Shape& s, const void* result, const gemm::Product& product,
                const gemm::Update& update, unsigned long long* place, cudaStream_t stream) {
  of_result(c.type, [&]<class T>(T) {
    find_first_wrong<<<blocks, threads, 0, stream>>>(static_cast<const T*>(result), s.m, s.n, product, update, place);
  });
  cuda::check(cudaGetLastError(), "comparing the product");
}

}  // namespace npgpu::cuda
