// What an application says to the library in the place of CUPTI (fake_cupti.cpp): what it did, and when, in ns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake {

struct Done {
  std::uint64_t start, end;
  std::uint32_t correlation, stream = 7;
};
void begin();                                                   // as the driver's first call
void copy(const Done&, std::uint64_t bytes, int from, int to);  // in CUPTI's codes of memory
void kernel(const Done&, const char* name, std::uint32_t blocks, std::uint32_t threads);
void memset(const Done&, std::uint64_t bytes);
void wait(const Done&, std::uint32_t type);
// 0 cudaGetLastError, 1 cudaMemcpyAsync, 2 cudaLaunchKernel, 3 cudaStreamSynchronize, 4 cudaMemset, 5 cuLaunchKernel
void call(const Done&, std::uint32_t callback, bool of_driver = false);

}  // namespace fake
