// The driver API, found through the runtime. Nothing links libcuda, so that the program starts, and can
// say what is missing, on a machine without a driver.
#pragma once

#include <cuda.h>

#include <string>

namespace npgpu::cuda {

// The functions used here; the legacy default stream's forms.
struct Driver {
  decltype(&::cuMemcpy) cuMemcpy = nullptr;
  decltype(&::cuMemcpyHtoD) cuMemcpyHtoD = nullptr;
  decltype(&::cuMemcpyDtoH) cuMemcpyDtoH = nullptr;
  decltype(&::cuMemcpyDtoD) cuMemcpyDtoD = nullptr;
  decltype(&::cuMemcpyHtoDAsync) cuMemcpyHtoDAsync = nullptr;
  decltype(&::cuMemcpyDtoHAsync) cuMemcpyDtoHAsync = nullptr;
  decltype(&::cuMemcpyDtoDAsync) cuMemcpyDtoDAsync = nullptr;
  decltype(&::cuGetErrorName) cuGetErrorName = nullptr;
};

// Looks them up once. Throws Error naming the function that the driver does not have.
const Driver& driver();

// "CUDA_ERROR_INVALID_VALUE", or the number where the driver cannot be asked.
std::string name_of(CUresult) noexcept;

}  // namespace npgpu::cuda
