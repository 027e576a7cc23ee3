#include "netpipe/devices/cuda/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "netpipe/devices/cuda/called.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/nvml/nvml.hpp"

namespace npgpu::cuda {

namespace {

struct Meaning {
  int code;
  ErrorKind kind;
};
// CUDA Toolkit documentation, "CUDA Driver API", CUresult. What is not here is a failure like any other.
constexpr Meaning meanings[] = {{CUDA_ERROR_OUT_OF_MEMORY, ErrorKind::no_memory},
                                // There is no driver or no device, or they do not fit this program.
                                {CUDA_ERROR_NO_DEVICE, ErrorKind::nothing},
                                {CUDA_ERROR_STUB_LIBRARY, ErrorKind::nothing},
                                {cudaErrorInsufficientDriver, ErrorKind::nothing},
                                {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, ErrorKind::nothing},
                                {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, ErrorKind::nothing},
                                // The hardware reported it, and no program causes it. CUDA_ERROR_CONTAINED (226) is not
                                // in the headers of every toolkit that builds this.
                                {CUDA_ERROR_ECC_UNCORRECTABLE, ErrorKind::defect},
                                {CUDA_ERROR_NVLINK_UNCORRECTABLE, ErrorKind::defect},
                                {226, ErrorKind::defect},
                                // They "leave the process in an inconsistent state": a kernel of it did that.
                                {CUDA_ERROR_ILLEGAL_ADDRESS, ErrorKind::context},
                                {CUDA_ERROR_LAUNCH_TIMEOUT, ErrorKind::context},
                                {CUDA_ERROR_CONTEXT_IS_DESTROYED, ErrorKind::context},
                                {CUDA_ERROR_ASSERT, ErrorKind::context},
                                {CUDA_ERROR_HARDWARE_STACK_ERROR, ErrorKind::context},
                                {CUDA_ERROR_ILLEGAL_INSTRUCTION, ErrorKind::context},
                                {CUDA_ERROR_MISALIGNED_ADDRESS, ErrorKind::context},
                                {CUDA_ERROR_INVALID_ADDRESS_SPACE, ErrorKind::context},
                                {CUDA_ERROR_INVALID_PC, ErrorKind::context},
                                {CUDA_ERROR_LAUNCH_FAILED, ErrorKind::context},
                                {721, ErrorKind::context}};  // a leak of tensor memory, from CUDA 12.8 on

// Codes that say of a call that it was not a proper one: no device has to be looked at.
constexpr std::array of_the_call{CUDA_ERROR_INVALID_VALUE,           CUDA_ERROR_OUT_OF_MEMORY,
                                 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                                 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_TOO_MANY_PEERS,
                                 CUDA_ERROR_NOT_SUPPORTED,           CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED};

[[noreturn]] void fail_by_code(int code, const std::string& sentence) {
  const bool is_of_the_call = std::ranges::find(of_the_call, static_cast<CUresult>(code)) != of_the_call.end();
  ErrorKind kind = kind_of(code);
  if (const auto* const gpus = inventory_if_made(); code == CUDA_ERROR_NO_DEVICE && gpus && !gpus->empty())
    kind = ErrorKind::lost;  // it was there
  fail_as(kind, sentence, !is_of_the_call);
}

}  // namespace

ErrorKind kind_of(int code) {
  const auto* const known = std::ranges::find(meanings, code, &Meaning::code);
  return known == std::end(meanings) ? ErrorKind::failed : known->kind;
}

void fail_as(ErrorKind kind, const std::string& sentence, bool look_for_loss) {
  // A GPU that has gone makes calls fail with nearly any code: it is asked for, and nothing is guessed from the code.
  if (look_for_loss)
    if (const std::optional<Loss> loss = find_loss())
      throw Error(ErrorKind::lost, fmt::format("{} is lost ({}): {}", loss->device, loss->evidence, sentence),
                  loss->device);
  throw Error(kind, sentence);
}

void fail(cudaError_t result, std::string_view what) {
  (void)cudaGetLastError();
  fail_by_code(static_cast<int>(result),
               fmt::format("{}: {} ({})", what, cudaGetErrorName(result), cudaGetErrorString(result)));
}

void fail(CUresult result, std::string_view what) {
  fail_by_code(static_cast<int>(result), fmt::format("{}: {}", what, name_of(result)));
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
  find("cuTensorMapEncodeTiled", all.cuTensorMapEncodeTiled);
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

std::optional<Loss> find_loss() {
  const std::vector<DeviceInfo>* const all = inventory_if_made();
  if (!all) return std::nullopt;
  std::vector<const DeviceInfo*> gpus;
  for (const DeviceInfo& info : *all) gpus.push_back(&info);
  const std::string current = gpu_called(static_cast<std::uint32_t>(current_ordinal));
  std::ranges::stable_partition(gpus, [&](const DeviceInfo* info) { return info->id == current; });
  for (const DeviceInfo* info : gpus)
    if (const auto evidence = nvml::why_lost(info->pci_bus_id)) return Loss{info->id, *evidence};
  return std::nullopt;
}

}  // namespace npgpu::cuda
