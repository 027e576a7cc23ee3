// Copies that overlap with kernels, in plain CUDA: whole, and cut into chunks on streams of their own. Needs no npgpu.
//
//   nvcc -O3 -arch=native -o overlap overlap.cu && ./overlap 16
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 1);
}

__global__ void work(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i < count ? in[i] : 0;
  for (int k = 0; k < 80; ++k) x = sinf(x) + 1;
  if (i < count) out[i] = x;
}

int main(int, char** words) {
  const int count = 16 << 20, chunks = words[1] ? std::atoi(words[1]) : 16, each = (count + chunks - 1) / chunks;
  float *host_in, *host_out, *in, *out;
  check(cudaMallocHost(&host_in, count * sizeof(float)));  // pinned: other memory is not copied beside kernels
  check(cudaMallocHost(&host_out, count * sizeof(float)));
  check(cudaMalloc(&in, count * sizeof(float)));
  check(cudaMalloc(&out, count * sizeof(float)));
  for (int i = 0; i < count; ++i) host_in[i] = i * 1e-6f;
  std::vector<cudaStream_t> streams(chunks);
  for (cudaStream_t& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto part = [&](int begin, int size, cudaStream_t stream) {
    check(cudaMemcpyAsync(in + begin, host_in + begin, size * sizeof(float), cudaMemcpyHostToDevice, stream));
    work<<<(size + 255) / 256, 256, 0, stream>>>(in + begin, out + begin, size);
    check(cudaMemcpyAsync(host_out + begin, out + begin, size * sizeof(float), cudaMemcpyDeviceToHost, stream));
  };
  const auto ms = [&](int size) {  // of the job in parts of so many numbers: the median of 21 runs
    std::vector<double> times(21);
    for (double& time : times) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i * size < count; ++i)
        part(i * size, i * size + size > count ? count - i * size : size, streams[i]);
      check(cudaDeviceSynchronize());
      time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    }
    std::nth_element(times.begin(), times.begin() + 10, times.end());
    return times[10];
  };
  const double whole = ms(count), cut = ms(each);
  cudaEvent_t begin, end;  // the kernel alone: what npgpu predict asks for as --kernel-ms
  check(cudaEventCreate(&begin)), check(cudaEventCreate(&end));
  check(cudaEventRecord(begin, streams[0]));
  work<<<(count + 255) / 256, 256, 0, streams[0]>>>(in, out, count);
  check(cudaEventRecord(end, streams[0])), check(cudaEventSynchronize(end));
  float kernel = 0;
  check(cudaEventElapsedTime(&kernel, begin, end));
  std::printf("64 MiB in, a kernel of %.3f ms, 64 MiB out: whole %.3f ms, in %d chunks %.3f ms\n", kernel, whole,
              chunks, cut);
}
