// cudaMemcpy and cudaMemcpyAsync: the runtime API, as most programs call it.
#include <cuda_runtime_api.h>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/copy_channel.hpp"

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
