// cudaIpc: copies within a GPU from this process's memory into that of a second one, which this one maps (CUDA IPC), as
// libraries for several processes on a GPU do. With --pattern pingpong also back.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "netpipe/modules/cuda/copy_channel.hpp"

namespace npgpu {

namespace {

struct AsyncWithin {
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
  }
};

class CudaIpc final : public cuda::Copies {
 public:
  std::string_view name() const override { return "cudaIpc"; }
  std::string_view summary() const override { return "copies within a GPU, into the memory of a second process"; }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    if (c.direction != Direction::d2d)
      return fmt::format(
          "--direction {}: cudaIpc copies within a GPU, between the memories of two processes: use "
          "--direction d2d",
          npgpu::name(c.direction));
    if (!c.async) return "cudaIpc copies into a stream: add --async";
    return Copies::refuses_case(c);
  }
  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const auto within = [](cudaStream_t stream) { return AsyncWithin{stream}; };
    return cuda::copy_channel(c, max_bytes, within, within, cuda::CopyBuffers::usual_time_out,
                              cuda::Owner::second_process);
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::CudaIpc)
