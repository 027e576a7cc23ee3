#include "netpipe/devices/cuda/check.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "netpipe/devices/cuda/driver.hpp"

namespace npgpu::cuda {

namespace {

ErrorKind kind_of(cudaError_t result) {
  switch (result) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return ErrorKind::nothing;
    default:
      return ErrorKind::failed;
  }
}

}  // namespace

void fail(cudaError_t result, std::string_view what) {
  (void)cudaGetLastError();
  throw Error(kind_of(result), fmt::format("{}: {} ({})", what, cudaGetErrorName(result), cudaGetErrorString(result)));
}

void fail(CUresult result, std::string_view what) {
  const bool none = result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_STUB_LIBRARY;
  throw Error(none ? ErrorKind::nothing : ErrorKind::failed, fmt::format("{}: {}", what, name_of(result)));
}

void complain(cudaError_t result, std::string_view what) noexcept {
  if (result == cudaSuccess || result == cudaErrorCudartUnloading) return;
  std::fprintf(stderr, "npgpu: %.*s: %s (%s)\n", static_cast<int>(what.size()), what.data(), cudaGetErrorName(result),
               cudaGetErrorString(result));
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string no_device_sentence(cudaError_t result, int driver, int runtime, const char* visible) {
  if (driver == 0) return "no NVIDIA driver is installed (libcuda.so.1 could not be loaded): run where there is one";
  switch (result) {
    case cudaErrorInsufficientDriver:
      return fmt::format(
          "the NVIDIA driver is too old: it knows CUDA {}, this program was built with CUDA {}; update "
          "the driver or build with CUDA {}",
          version_text(driver), version_text(runtime), driver / 1000);
    case cudaErrorNoDevice:
      if (visible)
        return fmt::format("the driver shows no GPU with CUDA_VISIBLE_DEVICES='{}': unset it or name a GPU in it",
                           visible);
      return "the NVIDIA driver is there, but it shows no GPU (nvidia-smi may say why)";
    default:
      return fmt::format("the CUDA runtime could not start: {} ({})", cudaGetErrorName(result),
                         cudaGetErrorString(result));
  }
}

std::string why_no_device() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) return {};
  (void)cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  return no_device_sentence(result == cudaSuccess ? cudaErrorNoDevice : result, driver, CUDART_VERSION,
                            std::getenv("CUDA_VISIBLE_DEVICES"));
}

void switch_to(int ordinal) {
  check(cudaSetDevice(ordinal), fmt::format("making cuda:{} current", ordinal));
  current_ordinal = ordinal;
}

}  // namespace npgpu::cuda
