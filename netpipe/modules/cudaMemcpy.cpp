// cudaMemcpy and cudaMemcpyAsync: the runtime API, as most programs call it.
#include <cuda_runtime_api.h>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/copy_channel.hpp"
#include "netpipe/modules/cuda_copies.hpp"

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

cudaMemcpyKind kind_of(Direction d) {
  switch (d) {
    case Direction::h2d:
      return cudaMemcpyHostToDevice;
    case Direction::d2h:
      return cudaMemcpyDeviceToHost;
    case Direction::d2d:
      return cudaMemcpyDeviceToDevice;
    case Direction::h2h:
      return cudaMemcpyHostToHost;
    case Direction::peer:
      break;
  }
  return cudaMemcpyDefault;
}

class CudaMemcpy final : public cuda::Copies {
 public:
  std::string_view name() const override { return "cudaMemcpy"; }
  std::string_view summary() const override {
    return "CUDA runtime copies: cudaMemcpy, and cudaMemcpyAsync with --async";
  }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const cudaMemcpyKind there = kind_of(c.direction);
    const cudaMemcpyKind back = kind_of(reversed(c.direction));
    if (c.async)
      return cuda::copy_channel(
          c, max_bytes,
          [=](cudaStream_t s) {
            return Async{there, s};
          },
          [=](cudaStream_t s) {
            return Async{back, s};
          });
    return cuda::copy_channel(
        c, max_bytes, [=](cudaStream_t) { return Blocking{there}; }, [=](cudaStream_t) { return Blocking{back}; });
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_MODULE(npgpu::CudaMemcpy)
