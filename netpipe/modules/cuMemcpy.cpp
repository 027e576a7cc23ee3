// cuMemcpyHtoD and its kin: the driver API, one layer below cudaMemcpy. It has a function for each direction.
#include <cuda.h>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/copy_channel.hpp"
#include "netpipe/modules/cuda_copies.hpp"
#include "npgpu/error.hpp"

namespace npgpu {

namespace {

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

// The function is a member, found in the driver once, so that a copy is one indirect call.
struct HostToDevice {
  decltype(cuda::Driver::cuMemcpyHtoD) copy;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(address(to), from, bytes), "cuMemcpyHtoD");
  }
};
struct DeviceToHost {
  decltype(cuda::Driver::cuMemcpyDtoH) copy;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(to, address(from), bytes), "cuMemcpyDtoH");
  }
};
struct DeviceToDevice {
  decltype(cuda::Driver::cuMemcpyDtoD) copy;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(address(to), address(from), bytes), "cuMemcpyDtoD");
  }
};
// No cuMemcpyHtoH exists; cuMemcpy finds out from the addresses.
struct HostToHost {
  decltype(cuda::Driver::cuMemcpy) copy;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(address(to), address(from), bytes), "cuMemcpy");
  }
};
struct HostToDeviceAsync {
  decltype(cuda::Driver::cuMemcpyHtoDAsync) copy;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(address(to), from, bytes, stream), "cuMemcpyHtoDAsync");
  }
};
struct DeviceToHostAsync {
  decltype(cuda::Driver::cuMemcpyDtoHAsync) copy;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(to, address(from), bytes, stream), "cuMemcpyDtoHAsync");
  }
};
struct DeviceToDeviceAsync {
  decltype(cuda::Driver::cuMemcpyDtoDAsync) copy;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    cuda::check(copy(address(to), address(from), bytes, stream), "cuMemcpyDtoDAsync");
  }
};

class CuMemcpy final : public cuda::Copies {
 public:
  std::string_view name() const override { return "cuMemcpy"; }
  std::string_view summary() const override {
    return "CUDA driver copies: cuMemcpyHtoD, DtoH, DtoD, and their Async forms with --async";
  }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const cuda::Driver& d = cuda::driver();
    const auto h2d = [&](cudaStream_t) { return HostToDevice{d.cuMemcpyHtoD}; };
    const auto d2h = [&](cudaStream_t) { return DeviceToHost{d.cuMemcpyDtoH}; };
    const auto d2d = [&](cudaStream_t) { return DeviceToDevice{d.cuMemcpyDtoD}; };
    const auto h2h = [&](cudaStream_t) { return HostToHost{d.cuMemcpy}; };
    const auto h2d_async = [&](cudaStream_t s) { return HostToDeviceAsync{d.cuMemcpyHtoDAsync, s}; };
    const auto d2h_async = [&](cudaStream_t s) { return DeviceToHostAsync{d.cuMemcpyDtoHAsync, s}; };
    const auto d2d_async = [&](cudaStream_t s) { return DeviceToDeviceAsync{d.cuMemcpyDtoDAsync, s}; };
    switch (c.direction) {
      case Direction::h2d:
        return c.async ? cuda::copy_channel(c, max_bytes, h2d_async, d2h_async)
                       : cuda::copy_channel(c, max_bytes, h2d, d2h);
      case Direction::d2h:
        return c.async ? cuda::copy_channel(c, max_bytes, d2h_async, h2d_async)
                       : cuda::copy_channel(c, max_bytes, d2h, h2d);
      case Direction::d2d:
        return c.async ? cuda::copy_channel(c, max_bytes, d2d_async, d2d_async)
                       : cuda::copy_channel(c, max_bytes, d2d, d2d);
      case Direction::h2h:
        return cuda::copy_channel(c, max_bytes, h2h, h2h);
      case Direction::peer:
        break;
    }
    throw Error(ErrorKind::usage, title(c) + ": " + refuses_case(c).value_or("cuMemcpy has no such copy"));
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_MODULE(npgpu::CuMemcpy)
