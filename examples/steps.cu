// An application to be recorded, in plain CUDA: steps that copy a batch in, launch a chain of short kernels and copy
// the result back. Words change it as npgpu predict advises: "pinned" memory, and a "graph" in place of the launches.
// The sum stays the same. Needs no npgpu; docs/record.md goes through it.
//
//   nvcc -O3 -arch=native -o steps steps.cu && ./steps && ./steps pinned && ./steps pinned graph
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 1);
}

__global__ void add(const float* batch, float* state, int layer) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  state[i] = 0.5f * state[i] + batch[layer * gridDim.x * blockDim.x + i];
}

int main(int count, char** words) {
  const auto has = [&](const char* word) {
    for (int i = 1; i < count; ++i)
      if (std::strcmp(words[i], word) == 0) return true;
    return false;
  };
  constexpr int blocks = 64, threads = 256, width = blocks * threads, layers = 200, steps = 100;
  constexpr std::size_t bytes = sizeof(float) * width * layers;  // 12.5 MiB
  std::vector<float> pageable(width * layers);
  float *batch = pageable.data(), *in, *state, *result;
  if (has("pinned")) check(cudaMallocHost(&batch, bytes));
  check(cudaMallocHost(&result, width * sizeof(float)));
  check(cudaMalloc(&in, bytes));
  check(cudaMalloc(&state, width * sizeof(float)));
  for (int i = 0; i < width * layers; ++i) batch[i] = i % 7 * 0.25f;
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  const auto chain = [&] {
    for (int layer = 0; layer < layers; ++layer) add<<<blocks, threads, 0, stream>>>(in, state, layer);
    check(cudaGetLastError());
  };
  cudaGraphExec_t graph = nullptr;
  if (has("graph")) {
    cudaGraph_t captured;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    chain();
    check(cudaStreamEndCapture(stream, &captured));
    check(cudaGraphInstantiate(&graph, captured, 0));
  }
  check(cudaMemsetAsync(state, 0, width * sizeof(float), stream));
  std::chrono::steady_clock::time_point begin;
  for (int step = -10; step < steps; ++step) {  // the first ten warm up
    if (step == 0) begin = std::chrono::steady_clock::now();
    check(cudaMemcpyAsync(in, batch, bytes, cudaMemcpyHostToDevice, stream));
    if (graph) check(cudaGraphLaunch(graph, stream));
    else chain();
    check(cudaMemcpyAsync(result, state, width * sizeof(float), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  double sum = 0;
  for (int i = 0; i < width; ++i) sum += result[i];
  std::printf("%.3f ms a step, sum %.6g\n", time.count() / steps, sum);
}
