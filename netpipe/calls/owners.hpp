// Owners of graphs and memory pools: move-only, and their destructor is where the thing dies.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/call.hpp"

namespace npgpu::cuda {

class Graph {
 public:
  Graph() { check(cudaGraphCreate(&graph_, 0), "making a graph"); }
  ~Graph() {
    if (graph_) complain(cudaGraphDestroy(graph_), "destroying a graph");
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  // `nodes` kernels of one block and one thread.
  Graph(const void* kernel, void** arguments, GraphForm form, std::uint32_t nodes) : Graph() {
    cudaKernelNodeParams what{};
    what.func = const_cast<void*>(kernel);
    what.gridDim = what.blockDim = dim3(1);
    what.kernelParams = arguments;
    cudaGraphNode_t last = nullptr;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      cudaGraphNode_t node = nullptr;
      const bool waits = form == GraphForm::chain && last;
      check(cudaGraphAddKernelNode(&node, graph_, waits ? &last : nullptr, waits ? 1 : 0, &what),
            "adding a node to a graph");
      last = node;
    }
  }
  cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_ = nullptr;
};

class ExecutableGraph {
 public:
  ExecutableGraph() = default;
  explicit ExecutableGraph(const Graph& graph) {
    check(cudaGraphInstantiate(&graph_, graph.get(), 0), "instantiating a graph");
  }
  ~ExecutableGraph() {
    if (graph_) complain(cudaGraphExecDestroy(graph_), "destroying a graph");
  }
  ExecutableGraph(ExecutableGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  cudaGraphExec_t get() const { return graph_; }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

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

}  // namespace npgpu::cuda
