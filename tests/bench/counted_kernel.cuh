// A kernel whose operations and bytes are counted, timed behind a gate: what a line of the benches of kernel times
// holds.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void must(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

// What the author of a kernel counts by reading it.
struct Counted {
  std::string name;
  const char* type = "fp32";
  double flops = 0, bytes = 0, written = 0;
  int word = 4, in_flight = 0, registers_read = 0;  // 0: not said
  bool random = false;
  bool is_outside = false;  // of what the model says that it knows
};

// Memory that no cache holds: each trial works on the next window of it.
class Windows {
 public:
  explicit Windows(std::size_t bytes) : bytes_(bytes) {
    must(cudaMalloc(&memory_, bytes), "allocating");
    must(cudaMemset(memory_, 0, bytes), "clearing");
  }
  ~Windows() { (void)cudaFree(memory_); }
  Windows(const Windows&) = delete;
  template <class T> T* next(std::size_t elements) {
    const std::size_t wanted = (elements * sizeof(T) + 511) / 512 * 512;
    if (wanted > bytes_) must(cudaErrorMemoryAllocation, "a window");
    if (begin_ + wanted > bytes_) begin_ = 0;
    char* const at = static_cast<char*>(memory_) + begin_;
    begin_ += wanted;
    return reinterpret_cast<T*>(at);
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_, begin_ = 0;
};

static __global__ void gate(long long cycles) {
  for (const long long begin = clock64(); clock64() - begin < cycles;) {
  }
}

inline void print_header() {
  std::puts(
      "name,type,flops,bytes,written,word,in_flight,registers_read,random,outside,blocks,threads,registers,shared,us,"
      "us_low,us_high");
}

// `launch(blocks, threads, shared)` enqueues the kernel once. Prints the median of the trials and its quartiles.
template <class Kernel, class Launch>
void time_kernel(const Counted& c, Kernel* kernel, std::size_t blocks, int threads, std::size_t dynamic_shared,
                 const Launch& launch) {
  cudaFuncAttributes attributes{};
  must(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)), "asking for a kernel");
  if (dynamic_shared > 48 * 1024)
    must(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(dynamic_shared)),
         "asking for shared memory");
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (!begin) must(cudaEventCreate(&begin), "an event"), must(cudaEventCreate(&end), "an event");
  std::vector<float> us;
  for (int trial = 0; trial < 13; ++trial) {
    gate<<<1, 1>>>(60000);  // until all is enqueued
    must(cudaEventRecord(begin), "recording");
    launch(static_cast<unsigned>(blocks), static_cast<unsigned>(threads), dynamic_shared);
    must(cudaEventRecord(end), "recording");
    must(cudaEventSynchronize(end), c.name.c_str());
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin, end), "the time between events");
    if (trial > 1) us.push_back(1000 * ms);
  }
  must(cudaGetLastError(), c.name.c_str());
  std::sort(us.begin(), us.end());
  std::printf("\"%s\",%s,%.17g,%.17g,%.17g,%d,%d,%d,%d,%d,%zu,%d,%d,%zu,%.4f,%.4f,%.4f\n", c.name.c_str(), c.type,
              c.flops, c.bytes, c.written, c.word, c.in_flight, c.registers_read, c.random, c.is_outside, blocks,
              threads, attributes.numRegs, dynamic_shared + attributes.sharedSizeBytes, us[us.size() / 2],
              us[us.size() / 4], us[3 * us.size() / 4]);
  std::fflush(stdout);
}
