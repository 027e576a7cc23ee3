// Kernels as applications have them, each with the operations and bytes that its author would count by reading it.
// kernel_times.py compares their times with what npgpu predicts from these counts. `in flight` is said only where the
// source says it plainly: operations that wait for each other.
//
//   npgpu_bench_foreign_kernels > foreign.csv
#include <cuda_fp16.h>

#include "counted_kernel.cuh"

namespace {

using Index = std::size_t;
__device__ Index self() { return Index{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Index all() { return Index{gridDim.x} * blockDim.x; }
unsigned blocks_for(Index elements, int threads) { return static_cast<unsigned>((elements + threads - 1) / threads); }

// ---- a vector after another -----------------------------------------------------------------------------------------

template <class T> __global__ void axpy(T a, const T* x, T* y, Index n) {
  if (const Index i = self(); i < n) y[i] = a * x[i] + y[i];
}
template <class T> __global__ void axpy_walking(T a, const T* x, T* y, Index n) {
  for (Index i = self(); i < n; i += all()) y[i] = a * x[i] + y[i];
}
__global__ void axpy4(float a, const float4* x, float4* y, Index n) {
  if (const Index i = self(); i < n) {
    const float4 p = x[i], q = y[i];
    y[i] = {a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w};
  }
}
template <class T> __global__ void copy_each(const T* x, T* y) { y[self()] = x[self()]; }
template <class T> __global__ void set_each(T* y, T v) { y[self()] = v; }
template <class T> __global__ void gelu(const T* x, T* y) {
  const T v = x[self()];
  y[self()] = T(0.5) * v * (T(1) + v * (T(0.797) + T(0.0356) * v * v));
}
template <class T>
void time_axpy(const char* name, const char* type, Windows& w, Index n, int threads, unsigned walking) {
  const double bytes = 3.0 * sizeof(T) * n;
  const Counted c{.name = name,
                  .type = type,
                  .flops = 2.0 * n,
                  .bytes = bytes,
                  .written = bytes / 3,
                  .word = sizeof(T),
                  .is_outside = walking == 1};
  const auto kernel = walking ? axpy_walking<T> : axpy<T>;
  time_kernel(c, kernel, walking ? walking : blocks_for(n, threads), threads, 0,
              [&](unsigned b, unsigned t, std::size_t) {
                T* const x = w.next<T>(n);
                kernel<<<b, t>>>(T(2), x, w.next<T>(n), n);
              });
}

// ---- neighbours of a grid -------------------------------------------------------------------------------------------

template <class T> __global__ void stencil5(const T* in, T* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  const T* const p = in + Index(y) * width + x;
  out[Index(y) * width + x] = T(0.25) * (p[-1] + p[1] + p[-width] + p[width]) - p[0];
}
template <class T> __global__ void stencil7(const T* in, T* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  const Index plane = Index(n) * n;
  const T* const p = in + z * plane + Index(y) * n + x;
  out[p - in] = T(0.1) * (p[-1] + p[1] + p[-n] + p[n] + *(p - plane) + p[plane]) + T(0.4) * p[0];
}

// ---- many to one ----------------------------------------------------------------------------------------------------

template <class T> __global__ void sum(const T* in, T* out, Index n) {
  T mine = 0;
  for (Index i = self(); i < n; i += all()) mine += in[i];
  __shared__ T of_warp[32];
  for (int o = 16; o; o /= 2) mine += __shfl_down_sync(~0u, mine, o);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < blockDim.x / 32) {
    mine = of_warp[threadIdx.x];
    for (int o = blockDim.x / 64; o; o /= 2) mine += __shfl_down_sync((1ull << (blockDim.x / 32)) - 1, mine, o);
    if (threadIdx.x == 0) out[blockIdx.x] = mine;
  }
}
__global__ void sum4(const float4* in, float* out, Index n) {
  float mine = 0;
  for (Index i = self(); i < n; i += all()) {
    const float4 v = in[i];
    mine += (v.x + v.y) + (v.z + v.w);
  }
  for (int o = 16; o; o /= 2) mine += __shfl_down_sync(~0u, mine, o);
  if (threadIdx.x % 32 == 0) atomicAdd(out + blockIdx.x % 1024, mine);
}
// A block for each row of a matrix times a vector.
__global__ void matrix_vector(const float* m, const float* v, float* out, int columns) {
  float mine = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine += m[Index(blockIdx.x) * columns + i] * v[i];
  for (int o = 16; o; o /= 2) mine += __shfl_down_sync(~0u, mine, o);
  __shared__ float of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < int(blockDim.x / 32); ++i) mine += of_warp[i];
    out[blockIdx.x] = mine;
  }
}
__global__ void row_scale(const float* in, float* out, int columns) {  // each row by its sum
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  float mine = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine += in[Index(blockIdx.x) * columns + i];
  for (int o = 16; o; o /= 2) mine += __shfl_down_sync(~0u, mine, o);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, mine);
  __syncthreads();
  const float by = 1 / (1 + total);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[Index(blockIdx.x) * columns + i] = by * in[Index(blockIdx.x) * columns + i];
}

// ---- elsewhere in memory --------------------------------------------------------------------------------------------

template <class T> __global__ void transpose_plain(const T* in, T* out, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[Index(x) * n + y0 + j] = in[Index(y0 + j) * n + x];
}
template <class T> __global__ void transpose_tiled(const T* in, T* out, int n) {
  __shared__ T tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[Index(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[Index(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void scatter_numbers(unsigned* to, unsigned mask) {
  const unsigned i = static_cast<unsigned>(self());
  to[i] = (i * 2654435761u ^ (i * 2654435761u >> 15)) & mask;
}
template <class T> __global__ void gather(const T* from, const unsigned* where, T* to) {
  to[self()] = from[where[self()]];
}
__global__ void strided(const float* in, float* out, int stride) { out[self()] = in[self() * stride]; }

// ---- operations -----------------------------------------------------------------------------------------------------

template <class T> __global__ void dependent(T a, T b, int n, T* end) {
  T v = static_cast<T>(threadIdx.x);
#pragma unroll 16
  for (int i = 0; i < n; ++i) v = v * a + b;
  if (v == static_cast<T>(12345)) *end = v;
}
template <class T, int degree> __global__ void polynomial(const T* x, T* y, T c) {
  const T v = x[self()];
  T sum = c;
#pragma unroll
  for (int i = 0; i < degree; ++i) sum = sum * v + c;
  y[self()] = sum;
}
__global__ void bodies(const float4* at, float3* pull, int n) {
  extern __shared__ float4 tile[];
  const float4 me = at[self()];
  float3 f{0, 0, 0};
  for (int base = 0; base < n; base += blockDim.x) {
    tile[threadIdx.x] = at[base + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < int(blockDim.x); ++i) {
      const float4 o = tile[i];
      const float x = o.x - me.x, y = o.y - me.y, z = o.z - me.z, d = x * x + y * y + z * z + 0.01f;
      const float r = rsqrtf(d), s = o.w * r * r * r;
      f.x += x * s, f.y += y * s, f.z += z * s;
    }
    __syncthreads();
  }
  pull[self()] = f;
}
template <class T, int tile> __global__ void product(const T* a, const T* b, T* c, int n) {
  __shared__ T as[tile][tile], bs[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  T sum = 0;
  for (int k = 0; k < n; k += tile) {
    as[threadIdx.y][threadIdx.x] = a[Index(row) * n + k + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[Index(k + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[Index(row) * n + column] = sum;
}
__global__ void escape(unsigned* out, int width, int most) {  // lanes end at different times
  const int i = static_cast<int>(self());
  const float x0 = -2 + 3.0f * (i % width) / width, y0 = -1 + 2.0f * (i / width) / width;
  float x = 0, y = 0;
  int n = 0;
  for (; n < most && x * x + y * y < 4; ++n) {
    const float t = x * x - y * y + x0;
    y = 2 * x * y + y0, x = t;
  }
  out[i] = n;
}
__global__ void add_again(float* x, int times) {  // reads what it has just written
  volatile float* const mine = x + self();
  for (int i = 0; i < times; ++i) *mine = *mine + 1;
}

}  // namespace

int main() {
  Windows w(std::size_t{6} << 30);
  float* end = nullptr;
  must(cudaMalloc(&end, 1 << 20), "allocating");
  const Index n = Index{1} << 26;
  print_header();

  time_axpy<float>("axpy, 64 threads", "fp32", w, n, 64, 0);
  time_axpy<float>("axpy, 256 threads", "fp32", w, n, 256, 0);
  time_axpy<float>("axpy, 1024 threads", "fp32", w, n, 1024, 0);
  time_axpy<float>("axpy, small", "fp32", w, Index{1} << 20, 256, 0);
  time_axpy<float>("axpy walking, 528 blocks", "fp32", w, n, 256, 528);
  time_axpy<float>("axpy walking, 1056 blocks", "fp32", w, n, 256, 1056);
  time_axpy<double>("axpy", "fp64", w, n, 256, 0);
  time_axpy<double>("axpy walking, 264 blocks", "fp64", w, n, 1024, 264);
  time_axpy<__half>("axpy", "fp16", w, n, 256, 0);
  time_axpy<float>("axpy, one block", "fp32", w, Index{1} << 18, 1024, 1);
  {
    const double bytes = 48.0 * (n / 4);
    time_kernel({.name = "axpy by 16 B", .flops = 2.0 * n, .bytes = bytes, .written = bytes / 3, .word = 16}, axpy4,
                n / 4 / 256, 256, 0, [&](unsigned b, unsigned t, std::size_t) {
                  float4* const x = w.next<float4>(n / 4);
                  axpy4<<<b, t>>>(2, x, w.next<float4>(n / 4), n / 4);
                });
  }
  for (const int threads : {64, 256, 1024})
    time_kernel({.name = "copy, " + std::to_string(threads) + " threads", .bytes = 8.0 * n, .written = 4.0 * n},
                copy_each<float>, n / threads, threads, 0, [&](unsigned b, unsigned t, std::size_t) {
                  float* const x = w.next<float>(n);
                  copy_each<<<b, t>>>(x, w.next<float>(n));
                });
  time_kernel({.name = "copy of bytes", .bytes = 2.0 * n, .written = 1.0 * n, .word = 1}, copy_each<char>, n / 256, 256,
              0, [&](unsigned b, unsigned t, std::size_t) {
                char* const x = w.next<char>(n);
                copy_each<<<b, t>>>(x, w.next<char>(n));
              });
  time_kernel({.name = "set", .bytes = 4.0 * n, .written = 4.0 * n}, set_each<float>, n / 256, 256, 0,
              [&](unsigned b, unsigned t, std::size_t) { set_each<<<b, t>>>(w.next<float>(n), 1.0f); });
  time_kernel({.name = "gelu", .flops = 8.0 * n, .bytes = 8.0 * n, .written = 4.0 * n}, gelu<float>, n / 256, 256, 0,
              [&](unsigned b, unsigned t, std::size_t) {
                float* const x = w.next<float>(n);
                gelu<<<b, t>>>(x, w.next<float>(n));
              });

  const auto time_stencil5 = [&](auto zero, const char* type, int width, int tx, int ty) {
    using T = decltype(zero);
    const Index elements = Index(width) * width;
    const dim3 grid((width - 2 + tx - 1) / tx, (width - 2 + ty - 1) / ty), block(tx, ty);
    time_kernel({.name = "5 points of a plane, " + std::to_string(tx) + "x" + std::to_string(ty),
                 .type = type,
                 .flops = 6.0 * elements,
                 .bytes = 2.0 * sizeof(T) * elements,
                 .written = 1.0 * sizeof(T) * elements,
                 .word = sizeof(T)},
                stencil5<T>, Index(grid.x) * grid.y, tx * ty, 0, [&](unsigned, unsigned, std::size_t) {
                  T* const in = w.next<T>(elements);
                  stencil5<<<grid, block>>>(in, w.next<T>(elements), width, width);
                });
  };
  time_stencil5(0.0f, "fp32", 8192, 32, 8);
  time_stencil5(0.0f, "fp32", 8192, 128, 1);
  time_stencil5(0.0, "fp64", 8192, 32, 8);
  const auto time_stencil7 = [&](auto zero, const char* type, int side) {
    using T = decltype(zero);
    const Index elements = Index(side) * side * side;
    const dim3 grid(side / 32, side / 8, side), block(32, 8);
    time_kernel({.name = "7 points of space",
                 .type = type,
                 .flops = 8.0 * elements,
                 .bytes = 2.0 * sizeof(T) * elements,
                 .written = 1.0 * sizeof(T) * elements,
                 .word = sizeof(T)},
                stencil7<T>, Index(grid.x) * grid.y * grid.z, 256, 0, [&](unsigned, unsigned, std::size_t) {
                  T* const in = w.next<T>(elements);
                  stencil7<<<grid, block>>>(in, w.next<T>(elements), side);
                });
  };
  time_stencil7(0.0f, "fp32", 512);
  time_stencil7(0.0, "fp64", 512);

  const auto time_sum = [&](auto zero, const char* type, unsigned blocks, int threads) {
    using T = decltype(zero);
    time_kernel({.name = "sum, " + std::to_string(blocks) + " blocks of " + std::to_string(threads),
                 .type = type,
                 .flops = 1.0 * n,
                 .bytes = 1.0 * sizeof(T) * n,
                 .word = sizeof(T)},
                sum<T>, blocks, threads, 0, [&](unsigned b, unsigned t, std::size_t) {
                  sum<<<b, t>>>(w.next<T>(n), reinterpret_cast<T*>(end), n);
                });
  };
  time_sum(0.0f, "fp32", 132, 1024);
  time_sum(0.0f, "fp32", 264, 256);
  time_sum(0.0f, "fp32", 1056, 256);
  time_sum(0.0f, "fp32", 8448, 256);
  time_sum(0.0, "fp64", 1056, 256);
  time_kernel({.name = "sum by 16 B", .flops = 1.0 * n, .bytes = 4.0 * n, .word = 16}, sum4, 1056, 256, 0,
              [&](unsigned b, unsigned t, std::size_t) { sum4<<<b, t>>>(w.next<float4>(n / 4), end, n / 4); });
  for (const int columns : {1024, 16384})
    time_kernel(
        {.name = "matrix times vector, " + std::to_string(columns) + " columns", .flops = 2.0 * n, .bytes = 4.0 * n},
        matrix_vector, n / columns, 256, 0, [&](unsigned b, unsigned t, std::size_t) {
          matrix_vector<<<b, t>>>(w.next<float>(n), end, w.next<float>(n / columns), columns);
        });
  time_kernel({.name = "rows over their sums", .flops = 2.0 * n, .bytes = 8.0 * n, .written = 4.0 * n}, row_scale,
              n / 4096, 256, 0, [&](unsigned b, unsigned t, std::size_t) {
                float* const x = w.next<float>(n);
                row_scale<<<b, t>>>(x, w.next<float>(n), 4096);
              });

  const auto time_transpose = [&](auto zero, const char* type, const char* name, auto kernel, double times_written,
                                  bool is_outside) {
    using T = decltype(zero);
    const dim3 grid(8192 / 32, 8192 / 32), block(32, 8);
    const Index elements = Index{8192} * 8192;
    time_kernel({.name = name,
                 .type = type,
                 .bytes = (1 + times_written) * sizeof(T) * elements,
                 .written = times_written * sizeof(T) * elements,
                 .word = sizeof(T),
                 .is_outside = is_outside},
                kernel, Index(grid.x) * grid.y, 256, 0, [&](unsigned, unsigned, std::size_t) {
                  T* const in = w.next<T>(elements);
                  kernel<<<grid, block>>>(in, w.next<T>(elements), 8192);
                });
  };
  time_transpose(0.0f, "fp32", "transpose, plain", transpose_plain<float>, 1, true);
  time_transpose(0.0f, "fp32", "transpose, tiled", transpose_tiled<float>, 1, false);
  time_transpose(0.0, "fp64", "transpose, tiled", transpose_tiled<double>, 1, false);
  {
    const Index few = Index{1} << 24;
    unsigned* where = nullptr;
    must(cudaMalloc(&where, few * 4), "allocating");
    scatter_numbers<<<few / 256, 256>>>(where, (1u << 28) - 1);
    // A random word moves a sector of 32 B. The number before it and the word behind it do not: they count as the part
    // of a word whose sector they would be.
    time_kernel({.name = "gather of 4 B", .bytes = 5.0 * few, .word = 4, .random = true, .is_outside = true},
                gather<float>, few / 256, 256, 0, [&](unsigned b, unsigned t, std::size_t) {
                  gather<<<b, t>>>(w.next<float>(1 << 28), where, w.next<float>(few));
                });
    time_kernel({.name = "gather of 8 B", .bytes = 11.0 * few, .word = 8, .random = true, .is_outside = true},
                gather<double>, few / 256, 256, 0, [&](unsigned b, unsigned t, std::size_t) {
                  gather<<<b, t>>>(w.next<double>(1 << 28), where, w.next<double>(few));
                });
    must(cudaDeviceSynchronize(), "gathering");
    (void)cudaFree(where);
    // A sector for every word.
    time_kernel({.name = "every eighth word", .bytes = 36.0 * few, .written = 4.0 * few, .in_flight = 8}, strided,
                few / 256, 256, 0, [&](unsigned b, unsigned t, std::size_t) {
                  float* const in = w.next<float>(few * 8);
                  strided<<<b, t>>>(in, w.next<float>(few), 8);
                });
  }

  const auto time_dependent = [&](auto one, const char* type, unsigned blocks, int threads) {
    using T = decltype(one);
    constexpr int steps = 8192;
    time_kernel({.name = "dependent operations, " + std::to_string(blocks) + " blocks of " + std::to_string(threads),
                 .type = type,
                 .flops = 2.0 * steps * blocks * threads,
                 .in_flight = 1},
                dependent<T>, blocks, threads, 0, [&](unsigned b, unsigned t, std::size_t) {
                  dependent<<<b, t>>>(one, one, steps, reinterpret_cast<T*>(end));
                });
  };
  time_dependent(1.0f, "fp32", 1, 32);
  time_dependent(1.0f, "fp32", 132, 128);
  time_dependent(1.0f, "fp32", 528, 256);
  time_dependent(1.0f, "fp32", 3000, 192);
  time_dependent(1.0, "fp64", 264, 256);
  time_dependent(3, "int32", 1056, 256);

  const auto time_polynomial = [&](auto one, const char* type, auto kernel, int degree, Index elements, int threads) {
    using T = decltype(one);
    time_kernel({.name = "polynomial of degree " + std::to_string(degree),
                 .type = type,
                 .flops = 2.0 * degree * elements,
                 .bytes = 2.0 * sizeof(T) * elements,
                 .written = 1.0 * sizeof(T) * elements,
                 .word = sizeof(T),
                 .in_flight = 1},
                kernel, elements / threads, threads, 0, [&](unsigned b, unsigned t, std::size_t) {
                  T* const x = w.next<T>(elements);
                  kernel<<<b, t>>>(x, w.next<T>(elements), one);
                });
  };
  time_polynomial(1.0f, "fp32", polynomial<float, 8>, 8, n, 256);
  time_polynomial(1.0f, "fp32", polynomial<float, 64>, 64, n, 256);
  time_polynomial(1.0f, "fp32", polynomial<float, 512>, 512, n, 128);
  time_polynomial(1.0, "fp64", polynomial<double, 64>, 64, n, 256);
  time_polynomial(1.0, "fp64", polynomial<double, 256>, 256, n / 2, 128);

  // For each pair 12 operations, and a root by a unit of an eighth of the lanes.
  for (const int count : {1 << 14, 1 << 16}) {
    const double pairs = double(count) * count;
    time_kernel({.name = "bodies, " + std::to_string(count),
                 .flops = 40 * pairs,
                 .bytes = 28.0 * count,
                 .written = 12.0 * count,
                 .word = 16},
                bodies, count / 256, 256, 256 * sizeof(float4), [&](unsigned b, unsigned t, std::size_t shared) {
                  float4* const at = w.next<float4>(count);
                  bodies<<<b, t, shared>>>(at, w.next<float3>(count), count);
                });
  }
  const auto time_product = [&](auto zero, const char* type, auto kernel, int tile, int side) {
    using T = decltype(zero);
    const Index elements = Index(side) * side;
    const dim3 grid(side / tile, side / tile), block(tile, tile);
    time_kernel({.name = "product by tiles of " + std::to_string(tile) + ", " + std::to_string(side),
                 .type = type,
                 .flops = 2.0 * side * elements,
                 .bytes = 3.0 * sizeof(T) * elements,
                 .written = 1.0 * sizeof(T) * elements,
                 .word = sizeof(T),
                 .is_outside = true},
                kernel, Index(grid.x) * grid.y, tile * tile, 0, [&](unsigned, unsigned, std::size_t) {
                  T* const a = w.next<T>(elements);
                  T* const b = w.next<T>(elements);
                  kernel<<<grid, block>>>(a, b, w.next<T>(elements), side);
                });
  };
  time_product(0.0f, "fp32", product<float, 16>, 16, 1024);
  time_product(0.0f, "fp32", product<float, 32>, 32, 2048);
  time_product(0.0, "fp64", product<double, 16>, 16, 1024);

  time_kernel({.name = "escape of points",
               .flops = 0,
               .bytes = 4.0 * (1 << 22),
               .written = 4.0 * (1 << 22),
               .is_outside = true},
              escape, (1 << 22) / 256, 256, 0,
              [&](unsigned b, unsigned t, std::size_t) { escape<<<b, t>>>(w.next<unsigned>(1 << 22), 2048, 256); });
  time_kernel({.name = "adds to what it wrote",
               .flops = 64.0 * (1 << 20),
               .bytes = 64.0 * 8 * (1 << 20),
               .written = 64.0 * 4 * (1 << 20),
               .in_flight = 1,
               .is_outside = true},
              add_again, (1 << 20) / 256, 256, 0,
              [&](unsigned b, unsigned t, std::size_t) { add_again<<<b, t>>>(w.next<float>(1 << 20), 64); });
  must(cudaDeviceSynchronize(), "ending");
  (void)cudaFree(end);
}
