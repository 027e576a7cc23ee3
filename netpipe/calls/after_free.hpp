// What the calls of CUDA are timed with: kernels and graphs of them that do nothing, the owner of a memory pool
// (move-only, and its destructor is where it dies), and the reads that follow a free.
#pragma once

#include <cstdint>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/vocabulary/call.hpp"

namespace npgpu::cuda {

// The kernels that calls launch: empty ones, ones that count how often they ran, and one that signals the host.
// All but the signal take an argument of `argument_bytes` and a counter; every block of a counting one adds 1 to it.
// Null where there is no such size.
const void* empty_kernel(std::uint64_t argument_bytes);
const void* counting_kernel(std::uint64_t argument_bytes);
inline constexpr std::uint64_t max_argument_bytes = 4000;
// void(volatile std::uint64_t* word, std::uint64_t value): the host sees the word at once.
const void* signal_kernel();
// void(const uint4* from, std::uint64_t count, unsigned* end): reads all of it, which is zero, and then writes nothing.
const void* reading_kernel();

// `nodes` kernels of one block and one thread.
inline Graph graph_of_kernels(const void* kernel, void** arguments, GraphForm form, std::uint32_t nodes) {
  Graph graph;
  cudaKernelNodeParams what{};
  what.func = const_cast<void*>(kernel);
  what.gridDim = what.blockDim = dim3(1);
  what.kernelParams = arguments;
  cudaGraphNode_t last = nullptr;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    cudaGraphNode_t node = nullptr;
    const bool waits = form == GraphForm::chain && last;
    check(cudaGraphAddKernelNode(&node, graph.get(), waits ? &last : nullptr, waits ? 1 : 0, &what),
          "adding a node to a graph");
    last = node;
  }
  return graph;
}

class Pool {
 public:
  explicit Pool(int ordinal) {
    int has_pools = 0;
    check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal), "asking for memory pools");
    if (!has_pools) throw Error(ErrorKind::failed, "pool-alloc-free: this GPU or its driver has no memory pools");
    cudaMemPoolProps how{};
    how.allocType = cudaMemAllocationTypePinned;
    how.location = {cudaMemLocationTypeDevice, ordinal};
    check(cudaMemPoolCreate(&pool_, &how), "making a memory pool");
    std::uint64_t keep = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "letting a pool keep its memory");
  }
  ~Pool() { complain(cudaMemPoolDestroy(pool_), "destroying a memory pool"); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  cudaMemPool_t get() const { return pool_; }

 private:
  cudaMemPool_t pool_ = nullptr;
};

// What follows memory that is freed: the driver clears it, and reads of the device's memory take longer meanwhile.
class AfterFree {
 public:
  explicit AfterFree(int ordinal);
  ~AfterFree();

  struct Seen {
    Seconds host{0};               // until the free returned
    Seconds done{0};               // until reads took no longer than before; `host` where none did
    double slowed = not_measured;  // the median of reads meanwhile over those before; NaN: none took longer
  };
  // Takes the memory, frees it, and reads. Throws Error.
  Seen measure(Call, std::uint64_t bytes);

 private:
  void take(Call, std::uint64_t bytes);
  void give_back(Call);
  Seconds read();
  Seconds usual_read();

  int ordinal_;
  unsigned blocks_;
  Stream stream_;
  Event begin_, end_;
  Buffer memory_, word_;  // that is read; that no read writes
  Pool pool_;
  std::uint64_t in_pool_ = 0;
  void* taken_ = nullptr;
};

}  // namespace npgpu::cuda
