// Owners of CUDA graphs: move-only, and their destructor is where the thing dies.
#pragma once

#include <memory>

#include "netpipe/devices/cuda/check.hpp"

namespace npgpu::cuda {

class Graph {
 public:
  Graph() {
    cudaGraph_t graph = nullptr;
    check(cudaGraphCreate(&graph, 0), "making a graph");
    graph_.reset(graph);
  }
  explicit Graph(cudaGraph_t taken) : graph_(taken) {}
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

}  // namespace npgpu::cuda
