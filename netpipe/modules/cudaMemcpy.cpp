// cudaMemcpy and cudaMemcpyAsync: the runtime API, as most programs call it.
#include <cuda_runtime_api.h>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/modules/cuda/copy_channel.hpp"

namespace npgpu {

namespace {

struct Blocking {
  cudaMemcpyKind kind;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
  }
};

struct Async {
  cudaMemcpyKind kind;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
  }
};

// From one GPU to another that need not see each other's memory.
struct BlockingPeer {
  int target, source;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(cudaMemcpyPeer(to, target, from, source, bytes), "cudaMemcpyPeer");
  }
};
struct AsyncPeer {
  int target, source;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(cudaMemcpyPeerAsync(to, target, from, source, bytes, stream), "cudaMemcpyPeerAsync");
  }
};

std::unique_ptr<Channel> staged_channel(const TransferCase& c, std::uint64_t max_bytes) {
  const int a = cuda::ordinal_or_throw(c.source), b = cuda::ordinal_or_throw(c.target);
  const auto async = [](int to, int from) { return [=](cudaStream_t s) { return AsyncPeer{to, from, s}; }; };
  const auto blocking = [](int to, int from) { return [=](cudaStream_t) { return BlockingPeer{to, from}; }; };
  return c.async ? cuda::copy_channel(c, max_bytes, async(b, a), async(a, b))
                 : cuda::copy_channel(c, max_bytes, blocking(b, a), blocking(a, b));
}

// In the order of Direction.
constexpr cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
                                    cudaMemcpyHostToHost, cudaMemcpyDefault};

class CudaMemcpy final : public cuda::Copies {
 public:
  std::string_view name() const override { return "cudaMemcpy"; }
  std::string_view summary() const override {
    return "CUDA runtime copies: cudaMemcpy, and cudaMemcpyAsync with --async";
  }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    if (is_staged_peer(c)) return staged_channel(c, max_bytes);
    const cudaMemcpyKind there = kinds[static_cast<std::size_t>(c.direction)];
    const cudaMemcpyKind back = kinds[static_cast<std::size_t>(reversed(c.direction))];
    const auto async = [](cudaMemcpyKind kind) { return [kind](cudaStream_t s) { return Async{kind, s}; }; };
    const auto blocking = [](cudaMemcpyKind kind) { return [kind](cudaStream_t) { return Blocking{kind}; }; };
    return c.async ? cuda::copy_channel(c, max_bytes, async(there), async(back))
                   : cuda::copy_channel(c, max_bytes, blocking(there), blocking(back));
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::CudaMemcpy)
