// cudaKernel: copies by a kernel of npgpu's own, which loads and stores 16 bytes at a time: within a GPU, between two
// that see each other's memory, and of pinned host memory in place. A chase loads pointers from that memory, one after
// the other: the latency of a load, or of an atomic addition. Flags go to and fro between two that wait for each other.
#include <cuda_runtime_api.h>

#include "netpipe/modules/cuda/copy_channel.hpp"
#include "netpipe/modules/cuda/kernel_channels.hpp"

namespace npgpu {

namespace {

struct ByKernel {
  cuda::CopyKernel kernel;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const { kernel(to, from, bytes, stream); }
};

class CudaKernel final : public cuda::Copies {
 public:
  std::string_view name() const override { return "cudaKernel"; }
  std::string_view summary() const override {
    return "copies by kernels, which load and store 16 bytes at a time; chases of pointers, and flags";
  }
  Executor executor() const override { return Executor::sm_kernel; }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    if (c.pattern == Pattern::flag) return cuda::flag_channel(c);
    if (is_of_words(c.pattern)) return cuda::chase_channel(c);
    const int ordinal = cuda::ordinal_or_throw(mover_of(c));
    const auto by_kernel = [ordinal](cudaStream_t stream) { return ByKernel{cuda::CopyKernel(ordinal), stream}; };
    return cuda::copy_channel(c, max_bytes, by_kernel, by_kernel);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::CudaKernel)
