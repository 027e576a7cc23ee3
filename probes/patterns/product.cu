// A product of square matrices, P = M * N, one element a thread, as the slides have it (Venetis, Performance
// Optimizations in CUDA):
//
//   1  each thread reads a row of M and a column of N from global memory
//   2  tiles of M and N, as large as the block, are read once into shared memory and used from there
//
// A block has T * T threads. Elements are small integers that repeat every 64 rows and columns, so each element of P is
// n / 64 times that of a product of 64 * 64, which the host computes; floats hold it exactly.

#include <string>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "probes/cuda.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu::cuda {

namespace {

constexpr unsigned period = patterns::product_period;

// Elements of M and N, 0 to 7.
__host__ __device__ constexpr unsigned left_element(unsigned row, unsigned column) {
  return (row % period * 2654435761u + column % period * 40503u) >> 9 & 7;
}
__host__ __device__ constexpr unsigned right_element(unsigned row, unsigned column) {
  return (row % period * 97u + column % period * 2246822519u) >> 11 & 7;
}

__global__ void fill_matrices(float* left, float* right, unsigned n) {
  const std::uint64_t all = std::uint64_t{n} * n;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < all;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const auto row = static_cast<unsigned>(i / n), column = static_cast<unsigned>(i % n);
    left[i] = static_cast<float>(left_element(row, column));
    right[i] = static_cast<float>(right_element(row, column));
  }
}

template <unsigned tile>
__global__ void __launch_bounds__(tile* tile)
    multiply(const float* left, const float* right, float* product, unsigned n) {
  const unsigned row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < n; ++k) sum += left[row * n + k] * right[k * n + column];
  product[row * n + column] = sum;
}

template <unsigned tile>
__global__ void __launch_bounds__(tile* tile)
    multiply_tiles(const float* left, const float* right, float* product, unsigned n) {
  __shared__ float left_tile[tile][tile], right_tile[tile][tile];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (unsigned begin = 0; begin < n; begin += tile) {
    left_tile[y][x] = left[row * n + begin + x];
    right_tile[y][x] = right[(begin + y) * n + column];
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < tile; ++k) sum += left_tile[y][k] * right_tile[k][x];
    __syncthreads();
  }
  product[row * n + column] = sum;
}

using Kernel = void (*)(const float*, const float*, float*, unsigned);

Kernel kernel_for(const Shape& s) {
  const bool tiled = s.rung == 2;
  switch (patterns::tile_of(s)) {
    case 8: return tiled ? multiply_tiles<8> : multiply<8>;
    case 16: return tiled ? multiply_tiles<16> : multiply<16>;
    default: return tiled ? multiply_tiles<32> : multiply<32>;
  }
}

class ProductRunner final : public CudaProbeRunner {
 public:
  ProductRunner(const Probe& probe, std::span<const ProbeStep> steps) : CudaProbeRunner(probe, steps) {
    for (Buffer& matrix : matrices_) matrix = Buffer(Memory::device, std::max<std::uint64_t>(max_bytes(), 16));
    for (unsigned row = 0; row < period; ++row)
      for (unsigned column = 0; column < period; ++column)
        for (unsigned k = 0; k < period; ++k)
          small_[row * period + column] += left_element(row, k) * right_element(k, column);
  }
  double work() const override { return 2.0 * n() * n() * n(); }

 private:
  float* matrix(unsigned which) const { return reinterpret_cast<float*>(matrices_[which].data()); }
  unsigned n() const { return patterns::rows_of_matrix(shape()); }
  void set_up() override {
    bench().gpu().make_current();
    fill_matrices<<<1024, 256, 0, stream()>>>(matrix(0), matrix(1), n());
    multiply_once();  // the driver loads a kernel at its first launch, which no trial should wait for
    cuda::check(cudaGetLastError(), "loading a kernel");
    cuda::check(cudaStreamSynchronize(stream()), "loading a kernel");
  }
  void multiply_once() {
    const unsigned tile = patterns::tile_of(shape()), blocks = n() / tile;
    kernel_for(shape())<<<dim3(blocks, blocks), dim3(tile, tile), 0, stream()>>>(matrix(0), matrix(1), matrix(2), n());
  }
  ProbeSample launch(std::uint64_t repeats) override {
    bench().gpu().make_current();
    cuda::check(cudaMemsetAsync(matrix(2), 0xA5, shape().bytes, stream()), "poisoning the product");
    const auto all = [&] {
      for (std::uint64_t i = 0; i < repeats; ++i) multiply_once();
    };
    return bench().time_launches(repeats, all);
  }
  std::optional<std::string> wrong_result() override {
    bench().gpu().make_current();
    std::vector<float> found(std::uint64_t{n()} * n());
    cuda::check(cudaMemcpyAsync(found.data(), matrix(2), shape().bytes, cudaMemcpyDeviceToHost, stream()),
                "reading the product");
    cuda::check(cudaStreamSynchronize(stream()), "reading the product");
    for (std::uint64_t i = 0; i < found.size(); ++i) {
      const std::uint64_t row = i / n(), column = i % n();
      const auto right = static_cast<float>(n() / period * small_[row % period * period + column % period]);
      if (found[i] != right)
        return "element " + std::to_string(row) + ", " + std::to_string(column) + " of the product is " +
               std::to_string(found[i]) + ", not " + std::to_string(right);
    }
    return std::nullopt;
  }

  Buffer matrices_[3];  // M, N, P
  std::vector<unsigned> small_ = std::vector<unsigned>(period * period);
};

const Cuda product_probe({{.name = "product",
                           .open = runs<ProductRunner>,
                           .limit = limit_of_arithmetic,
                           .needs = [](std::span<const ProbeStep> steps) -> MemoryNeed {
                             return {0, 3 * max_bytes_of(steps)};
                           }}});

}  // namespace
}  // namespace npgpu::cuda
