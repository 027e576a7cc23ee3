// Owners of what the CUDA runtime gives out, graphs among it: move-only, and their destructor is where the thing dies.
// All belong to the device that was current when they were made.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "netpipe/devices/cuda/check.hpp"
#include "npgpu/vocabulary/transfer.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

// A stream of its own, which does not wait for the legacy default stream unless `flags` say so.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking);
  cudaStream_t get() const { return stream_.get(); }
  void synchronize() const { check(cudaStreamSynchronize(get()), "waiting for a stream"); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { complain(cudaStreamDestroy(stream), "destroying a stream"); }
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

// On this device, which is made current.
Stream stream_of(int ordinal);

class Event {
 public:
  Event();
  cudaEvent_t get() const { return event_.get(); }
  void record(cudaStream_t stream) { check(cudaEventRecord(get(), stream), "recording an event"); }
  // Both must be done. Resolution about half a microsecond.
  static Seconds between(const Event& begin, const Event& end);

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { complain(cudaEventDestroy(event), "destroying an event"); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

// Whose memory it is.
enum class Owner { this_process, second_process };

struct BufferFree {
  Memory kind = Memory::device;
  Owner owner = Owner::this_process;
  std::uint64_t bytes = 0;
  int ordinal = -1;
  void operator()(std::byte*) const;
};
// Memory that the runtime gives out: device, pinned, write_combined or managed; page-aligned on the host,
// 256-byte aligned on the device. Host kinds are mapped: the device reads and writes them at the same
// address. A second process has device memory only. Throws an Error that says how much of what was wanted.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Memory kind, std::uint64_t bytes, Owner owner = Owner::this_process);
  std::byte* data() const { return data_.get(); }
  std::uint64_t bytes() const { return data_ ? bytes_ : 0; }

 private:
  std::unique_ptr<std::byte, BufferFree> data_;
  std::uint64_t bytes_ = 0;
};

// Moves the pages of a managed buffer to the host, where the device supports it; in stream order.
void prefetch_to_host(const void* managed, std::uint64_t bytes, int ordinal, cudaStream_t);
void prefetch_to_device(const void* managed, std::uint64_t bytes, int ordinal, cudaStream_t);
// Advice to the driver on pages: `host` is where they prefer to be, else the device.
void advise(const void* managed, std::uint64_t bytes, cudaMemoryAdvise, bool host, int ordinal);

// Owners of CUDA graphs: move-only, and their destructor is where the thing dies.

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
