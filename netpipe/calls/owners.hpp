// Owners of graphs and memory pools: move-only, and their destructor is where the thing dies.
#pragma once

#include <cstdint>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/call.hpp"

namespace npgpu::cuda {

class Graph {
 public:
  Graph() {
    cudaGraph_t graph = nullptr;
    check(cudaGraphCreate(&graph, 0), "making a graph");
    graph_.reset(graph);
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
      check(cudaGraphAddKernelNode(&node, get(), waits ? &last : nullptr, waits ? 1 : 0, &what),
            "adding a node to a graph");
      last = node;
    }
  }
  cudaGraph_t get() const { return graph_.get(); }

 private:
  struct Destroy {
    void operator()(cudaGraph_t graph) const { complain(cudaGraphDestroy(graph), "destroying a graph"); }
  };
  std::unique_ptr<CUgraph_st, Destroy> graph_;
};

class ExecutableGraph {
 public:
  ExecutableGraph() = default;
  explicit ExecutableGraph(const Graph& graph) {
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "instantiating a graph");
    graph_.reset(executable);
  }
  cudaGraphExec_t get() const { return graph_.get(); }

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const { complain(cudaGraphExecDestroy(graph), "destroying a graph"); }
  };
  std::unique_ptr<CUgraphExec_st, Destroy> graph_;
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
