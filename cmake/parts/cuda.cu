#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <concepts>

template <std::floating_point Value> __global__ void twice(Value* values) { values[threadIdx.x] *= 2; }

int main() {
  float* values = nullptr;
  twice<<<1, 1>>>(values);
  return cudaGetLastError() != cudaSuccess;
}
