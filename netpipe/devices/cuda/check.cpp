#include "netpipe/devices/cuda/check.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace npgpu::cuda {

void fail(cudaError_t result, std::string_view what) {
  (void)cudaGetLastError();
  constexpr std::array none{cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorStubLibrary,
                            cudaErrorSystemDriverMismatch, cudaErrorCompatNotSupportedOnDevice};
  const bool nothing = std::ranges::find(none, result) != none.end();
  throw Error(nothing ? ErrorKind::nothing : ErrorKind::failed,
              fmt::format("{}: {} ({})", what, cudaGetErrorName(result), cudaGetErrorString(result)));
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
  if (result == cudaErrorInsufficientDriver)
    return fmt::format(
        "the NVIDIA driver is too old: it knows CUDA {}, this program was built with CUDA {}; update "
        "the driver or build with CUDA {}",
        version_text(driver), version_text(runtime), driver / 1000);
  if (result == cudaErrorNoDevice && visible)
    return fmt::format("the driver shows no GPU with CUDA_VISIBLE_DEVICES='{}': unset it or name a GPU in it", visible);
  if (result == cudaErrorNoDevice) return "the NVIDIA driver is there, but it shows no GPU (nvidia-smi may say why)";
  return fmt::format("the CUDA runtime could not start: {} ({})", cudaGetErrorName(result), cudaGetErrorString(result));
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

namespace {

// The version whose form of the function is wanted: all used here are as they were in CUDA 12.0.
constexpr unsigned wanted_version = 12000;

template <class Function> void find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  cudaError_t result = cudaGetDriverEntryPointByVersion(name, &found, wanted_version, cudaEnableLegacyStream, &status);
#else
  cudaError_t result = cudaGetDriverEntryPoint(name, &found, cudaEnableLegacyStream, &status);
#endif
  if (result == cudaSuccess && !(status == cudaDriverEntryPointSuccess && found)) result = cudaErrorSymbolNotFound;
  check(result, fmt::format("looking for {} in the driver", name));
  function = reinterpret_cast<Function>(found);
}

Driver find_all() {
  Driver all;
  find("cuMemcpy", all.cuMemcpy);
  find("cuMemcpyAsync", all.cuMemcpyAsync);
  find("cuMemcpyHtoD", all.cuMemcpyHtoD);
  find("cuMemcpyDtoH", all.cuMemcpyDtoH);
  find("cuMemcpyDtoD", all.cuMemcpyDtoD);
  find("cuMemcpyHtoDAsync", all.cuMemcpyHtoDAsync);
  find("cuMemcpyDtoHAsync", all.cuMemcpyDtoHAsync);
  find("cuMemcpyDtoDAsync", all.cuMemcpyDtoDAsync);
  find("cuGetErrorName", all.cuGetErrorName);
  return all;
}

}  // namespace

const Driver& driver() {
  static const Driver all = find_all();
  return all;
}

std::string name_of(CUresult result) noexcept {
  try {
    const char* name = nullptr;
    if (driver().cuGetErrorName(result, &name) == CUDA_SUCCESS && name) return name;
  } catch (...) {  // the number is what is left to say
  }
  return "CUDA driver error " + std::to_string(static_cast<int>(result));
}

}  // namespace npgpu::cuda
