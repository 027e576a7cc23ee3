// cuMemcpyHtoD and its kin: the driver API, one layer below cudaMemcpy. It has a function for each direction.
#include <cuda.h>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/engine/copy_cases.hpp"
#include "netpipe/modules/cuda/copy_channel.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

namespace {

template <class Address, class Pointer> Address as(Pointer p) {
  if constexpr (std::is_pointer_v<Address>) return p;
  else return reinterpret_cast<Address>(p);
}

// The function is a member, found in the driver once, so that a copy is one indirect call.
template <class To, class From, class... Stream> struct DriverCopy {
  CUresult (*copy)(To, From, std::size_t, Stream...);
  std::string_view name;
  cudaStream_t stream;
  void operator()(void* to, const void* from, std::size_t bytes) const {
    if constexpr (sizeof...(Stream) == 0) cuda::check(copy(as<To>(to), as<From>(from), bytes), name);
    else cuda::check(copy(as<To>(to), as<From>(from), bytes, stream), name);
  }
};
template <class To, class From, class... Stream>
auto copies(CUresult (*copy)(To, From, std::size_t, Stream...), std::string_view name) {
  return [=](cudaStream_t stream) { return DriverCopy<To, From, Stream...>{copy, name, stream}; };
}

class CuMemcpy final : public cuda::Copies {
 public:
  std::string_view name() const override { return "cuMemcpy"; }
  std::string_view summary() const override {
    return "CUDA driver copies: cuMemcpyHtoD, DtoH, DtoD, and their Async forms with --async";
  }

  std::optional<std::string> refuses_case(const TransferCase& c) const override {
    if (is_staged_peer(c)) return "--access staged: cuMemcpy has no such copy: use --module cudaMemcpy";
    return Copies::refuses_case(c);
  }

  std::unique_ptr<Channel> open_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    const cuda::Driver& d = cuda::driver();
    const auto h2d = copies(d.cuMemcpyHtoD, "cuMemcpyHtoD");
    const auto d2h = copies(d.cuMemcpyDtoH, "cuMemcpyDtoH");
    const auto d2d = copies(d.cuMemcpyDtoD, "cuMemcpyDtoD");
    const auto h2h = copies(d.cuMemcpy, "cuMemcpy");  // no cuMemcpyHtoH exists; it finds out from the addresses
    const auto h2d_async = copies(d.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync");
    const auto d2h_async = copies(d.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync");
    const auto d2d_async = copies(d.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync");
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
      case Direction::h2h: return cuda::copy_channel(c, max_bytes, h2h, h2h);
      case Direction::peer: {
        const auto any = copies(d.cuMemcpy, "cuMemcpy");
        const auto any_async = copies(d.cuMemcpyAsync, "cuMemcpyAsync");
        return c.async ? cuda::copy_channel(c, max_bytes, any_async, any_async)
                       : cuda::copy_channel(c, max_bytes, any, any);
      }
    }
    throw Error(ErrorKind::usage, title(c) + ": " + refuses_case(c).value_or("cuMemcpy has no such copy"));
  }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::CuMemcpy)
