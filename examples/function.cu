// Measures a kernel of your own on GPU 0 into scale.h5, with npgpu's rounds, gate, neighbours and intervals.
#include <cuda_runtime.h>

#include <cstdio>

#include "npgpu/measuring/campaign.hpp"

__global__ void scale(float* x, unsigned n) {
  if (const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n) x[i] *= 1.0f;
}

int main() {
  constexpr unsigned n = 1 << 24;
  float* x = nullptr;
  cudaStream_t stream = nullptr;
  if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess)
    return std::fprintf(stderr, "GPU 0 cannot be used\n"), 77;
  cudaMemsetAsync(x, 0, n * sizeof(float), stream);
  npgpu::Function function{.name = "scale", .device = "cuda:0"};
  function.call = [=] { scale<<<n / 256, 256, 0, stream>>>(x, n); };
  function.wait = [=] { cudaStreamSynchronize(stream); };
  function.stream = stream;  // also timed by the device
  npgpu::Settings settings;
  settings.output = "scale.h5";
  settings.if_exists = npgpu::IfExists::replace;
  return npgpu::measure({function}, settings).failures.empty() ? 0 : 1;
}
