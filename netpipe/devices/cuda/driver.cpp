#include "netpipe/devices/cuda/driver.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "netpipe/devices/cuda/check.hpp"

namespace npgpu::cuda {

namespace {

// The version whose form of the function is wanted: all used here are as they were in CUDA 12.0.
constexpr unsigned wanted_version = 12000;

cudaError_t find(const char* name, void** function) {
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 12050
  const cudaError_t result =
      cudaGetDriverEntryPointByVersion(name, function, wanted_version, cudaEnableLegacyStream, &status);
#else
  const cudaError_t result = cudaGetDriverEntryPoint(name, function, cudaEnableLegacyStream, &status);
#endif
  if (result != cudaSuccess) return result;
  return status == cudaDriverEntryPointSuccess && *function ? cudaSuccess : cudaErrorSymbolNotFound;
}

template <class Function>
void find(const char* name, Function& function) {
  void* found = nullptr;
  check(find(name, &found), fmt::format("looking for {} in the driver", name));
  function = reinterpret_cast<Function>(found);
}

Driver find_all() {
  Driver all;
  find("cuMemcpy", all.cuMemcpy);
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
