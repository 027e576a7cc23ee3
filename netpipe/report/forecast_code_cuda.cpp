// The advice in plain CUDA C++.
#include "netpipe/report/forecast_code.hpp"

namespace npgpu {

namespace {

constexpr const char* cuda_head = R"(@about@
// nvcc -O3 -arch=native -o overlap overlap.cu && ./overlap
@include@ <cuda_runtime.h>

@include@ <algorithm>
@include@ <chrono>
@include@ <cstddef>
@include@ <cstdio>
@include@ <cstdlib>
@include@ <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t error = (call);                                      \
    if (error != cudaSuccess) {                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));  \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

// Of the whole job; of a chunk, and the last one may be smaller; of the whole kernel, alone on the GPU.
constexpr std::size_t bytes_in = @in@, bytes_out = @out@;
constexpr std::size_t chunk_in = @chunk_in@, chunk_out = @chunk_out@;
constexpr double kernel_ms = @kernel_ms@;

// Stands for your kernel: keeps the whole GPU busy for the chunk's share of the time. Yours reads `in` and writes `out`,
// and may need to know where in the job its chunk begins.
__global__ void kernel(const char* in, char* out, unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
  if (in == nullptr && out == nullptr && now == 0) std::printf(" ");  // both are used
}

void launch(const char* in, char* out, double share, cudaStream_t stream) {
  static const int blocks = [] {
    int device = 0, multiprocessors = 0, of_each = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, kernel, 1024, 0));
    return multiprocessors * of_each;
  }();
  kernel<<<blocks, 1024, 0, stream>>>(in, out, static_cast<unsigned long long>(share * kernel_ms * 1e6));
  CHECK(cudaGetLastError());
}

struct Job {
  char *host_in, *host_out;    // pinned: copies of other memory do not overlap with kernels
  std::vector<char*> in, out;  // on the GPU, a pair for each stream
  std::vector<cudaStream_t> streams;
};

std::size_t bytes_of(std::size_t chunk, std::size_t each, std::size_t all) {
  return std::min(each, all - std::min(all, chunk * each));
}
double share_of(std::size_t chunk, std::size_t chunks) {
  const std::size_t all = bytes_in ? bytes_in : bytes_out, each = bytes_in ? chunk_in : chunk_out;
  return all ? static_cast<double>(bytes_of(chunk, each, all)) / static_cast<double>(all) : 1.0 / static_cast<double>(chunks);
}
void copy_in(const Job& job, std::size_t chunk) {
  const std::size_t s = chunk % job.streams.size(), bytes = bytes_of(chunk, chunk_in, bytes_in);
  if (bytes) CHECK(cudaMemcpyAsync(job.in[s], job.host_in + chunk * chunk_in, bytes, cudaMemcpyHostToDevice, job.streams[s]));
}
void compute(const Job& job, std::size_t chunk, std::size_t chunks) {
  const std::size_t s = chunk % job.streams.size();
  launch(job.in[s], job.out[s], share_of(chunk, chunks), job.streams[s]);
}
void copy_out(const Job& job, std::size_t chunk) {
  const std::size_t s = chunk % job.streams.size(), bytes = bytes_of(chunk, chunk_out, bytes_out);
  if (bytes) CHECK(cudaMemcpyAsync(job.host_out + chunk * chunk_out, job.out[s], bytes, cudaMemcpyDeviceToHost, job.streams[s]));
}

)";

constexpr const char* cuda_breadth_first =
    R"(// A chunk in each stream: all copies in, then all kernels, then all copies out.
void run(const Job& job) {
  const std::size_t chunks = @chunks@;
  for (std::size_t i = 0; i < chunks; ++i) copy_in(job, i);
  for (std::size_t i = 0; i < chunks; ++i) compute(job, i, chunks);
  for (std::size_t i = 0; i < chunks; ++i) copy_out(job, i);
}
)";
constexpr const char* cuda_depth_first =
    R"(// Chunks take turns in the streams: one's buffers are free when its stream comes to the next.
void run(const Job& job) {
  const std::size_t chunks = @chunks@;
  for (std::size_t i = 0; i < chunks; ++i) {
    copy_in(job, i);
    compute(job, i, chunks);
    copy_out(job, i);
  }
}
)";

constexpr const char* cuda_tail = R"(
int main() {
  Job job;
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&job.host_in), std::max<std::size_t>(bytes_in, 1)));
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&job.host_out), std::max<std::size_t>(bytes_out, 1)));
  for (int s = 0; s < @streams@; ++s) {
    job.in.emplace_back(), job.out.emplace_back(), job.streams.emplace_back();
    CHECK(cudaMalloc(reinterpret_cast<void**>(&job.in.back()), std::max<std::size_t>(chunk_in, 1)));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&job.out.back()), std::max<std::size_t>(chunk_out, 1)));
    CHECK(cudaStreamCreateWithFlags(&job.streams.back(), cudaStreamNonBlocking));
  }
  std::vector<double> ms;
  for (int i = 0; i < 20; ++i) {
    CHECK(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    run(job);
    CHECK(cudaDeviceSynchronize());
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(ms.begin(), ms.end());
  std::printf("%.4g ms (median of 20); predicted @predicted@, and @whole@ in one stream\n", ms[ms.size() / 2]);
}
)";

}  // namespace

CodeTemplate cuda_code() { return {cuda_head, cuda_breadth_first, cuda_depth_first, cuda_tail, "//"}; }

}  // namespace npgpu
