// The one way from a CUDA result to an Error, the one that a destructor may take, and GPUs that have stopped answering.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <string_view>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cuda {

// What an error code of the runtime or the driver, which have the same numbers, says of the device: nothing, where
// there is no driver or device; no_memory; defect; context; failed for all others. Not lost: no code says that.
ErrorKind kind_of(int code);

// Throws Error with this sentence, of this kind; or of kind lost where a GPU that was there has stopped answering.
[[noreturn]] void fail_as(ErrorKind, const std::string& sentence, bool look_for_loss = true);

// "cudaMemcpyAsync: cudaErrorInvalidValue (invalid argument)". Clears the runtime's last error, where it can be
// cleared.
[[noreturn]] void fail(cudaError_t, std::string_view what);
[[noreturn]] void fail(CUresult, std::string_view what);

// Throws unless the call went well; `what` says what was tried. Cheap enough for the timed region.
inline void check(cudaError_t result, std::string_view what) {
  if (result != cudaSuccess) [[unlikely]]
    fail(result, what);
}
inline void check(CUresult result, std::string_view what) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail(result, what);
}

// For destructors: says on standard error what went wrong, and carries on. Silent while the process
// ends, when the driver may be gone before us.
void complain(cudaError_t, std::string_view what) noexcept;

// "13.0" from 13000.
std::string version_text(int version);

// Why there is nothing to measure; empty if there is a device. Distinguishes: no driver, a driver older
// than this program's runtime, no device (and CUDA_VISIBLE_DEVICES, where that is the likely reason).
std::string why_no_device();

// The sentence for what the runtime answered, without asking it: `driver` is cudaDriverGetVersion's
// (0: none installed), `visible` CUDA_VISIBLE_DEVICES or null.
std::string no_device_sentence(cudaError_t, int driver, int runtime, const char* visible);

// Makes a device the calling thread's current one. All of npgpu goes through here, so that the usual
// case, nothing to do, costs one comparison and can stand in a timed region.
inline thread_local constinit int current_ordinal = -1;
void switch_to(int ordinal);
inline void make_current(int ordinal) {
  if (current_ordinal != ordinal) [[unlikely]]
    switch_to(ordinal);
}

// What is used of the driver API, in the legacy default stream's forms. It is found through the runtime: nothing links
// libcuda, so that the program starts, and can say what is missing, on a machine without a driver.
struct Driver {
  decltype(&::cuMemcpy) cuMemcpy = nullptr;
  decltype(&::cuMemcpyAsync) cuMemcpyAsync = nullptr;
  decltype(&::cuMemcpyHtoD) cuMemcpyHtoD = nullptr;
  decltype(&::cuMemcpyDtoH) cuMemcpyDtoH = nullptr;
  decltype(&::cuMemcpyDtoD) cuMemcpyDtoD = nullptr;
  decltype(&::cuMemcpyHtoDAsync) cuMemcpyHtoDAsync = nullptr;
  decltype(&::cuMemcpyDtoHAsync) cuMemcpyDtoHAsync = nullptr;
  decltype(&::cuMemcpyDtoDAsync) cuMemcpyDtoDAsync = nullptr;
  decltype(&::cuGetErrorName) cuGetErrorName = nullptr;
  decltype(&::cuTensorMapEncodeTiled) cuTensorMapEncodeTiled = nullptr;
};

// Looks them up once. Throws Error naming the function that the driver does not have.
const Driver& driver();

// "CUDA_ERROR_INVALID_VALUE", or the number where the driver cannot be asked.
std::string name_of(CUresult) noexcept;

// GPUs that were there and have stopped answering: fallen off the bus, or waiting for a reset.

struct Loss {
  std::string device;    // "cuda:1"
  std::string evidence;  // "NVML: GPU is lost"
};

// Asks the GPUs of the inventory, the calling thread's current one first. Nothing before the inventory is made. Takes
// some milliseconds on a GPU that answers; call it where something has failed.
std::optional<Loss> find_loss();

}  // namespace npgpu::cuda
