#include "probes/gemm/cublas.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "npgpu/error.hpp"
#include "probes/gemm/library.hpp"

namespace npgpu::cuda {

namespace {

constexpr int default_math = 0;  // whatever is fastest and keeps the type's precision: no TF32 for fp32

bool find_all(void* library, Cublas& c) {
  using gemm::find;
  return find(library, c.create, "cublasCreate_v2") && find(library, c.destroy, "cublasDestroy_v2") &&
         find(library, c.set_stream, "cublasSetStream_v2") && find(library, c.set_workspace, "cublasSetWorkspace_v2") &&
         find(library, c.set_math_mode, "cublasSetMathMode") && find(library, c.get_property, "cublasGetProperty") &&
         find(library, c.sgemm, "cublasSgemm_v2") && find(library, c.dgemm, "cublasDgemm_v2");
}

// What may change the arithmetic behind a program's back.
std::string settings() {
  std::string text;
  for (const char* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION",
                           "CUBLAS_EMULATION_STRATEGY"})
    if (const char* const value = std::getenv(name)) text += fmt::format(", {}={}", name, value);
  return text;
}

Cublas look() {
  constexpr const char* variable = "NPGPU_CUBLAS";
  const auto take = [](void* library, const std::string& name, Cublas& c) {
    if (!find_all(library, c)) return false;
    int version[3] = {};
    for (int part = 0; part < 3; ++part) c.get_property(part, &version[part]);
    c.text = fmt::format("cuBLAS {}.{}.{} ({}), default math, workspace {}{}", version[0], version[1], version[2], name,
                         size_text(CublasHandle::workspace_bytes), settings());
    return true;
  };
  if (auto found = gemm::look_for<Cublas>(variable, {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}, take))
    return *found;
  Cublas none;
  none.why_not = fmt::format("cuBLAS is not there: {}; install CUDA's libcublas, or name the library in NPGPU_CUBLAS",
                             gemm::chosen_library(variable)
                                 ? "the library that NPGPU_CUBLAS names has no cublasSgemm_v2 and the like, or "
                                   "cannot be opened"
                                 : "no libcublas.so.13, .12 or .11 is where the system looks for libraries");
  return none;
}

}  // namespace

const Cublas& cublas() {
  static const Cublas found = look();
  return found;
}

void check_cublas(int status, const char* what) {
  if (status != 0) throw Error(ErrorKind::failed, fmt::format("cuBLAS: {}: status {}", what, status));
}

CublasHandle::CublasHandle(cudaStream_t stream) : workspace_(Memory::device, workspace_bytes) {
  if (!cublas_.why_not.empty()) throw Error(ErrorKind::usage, cublas_.why_not);
  void* handle = nullptr;
  check_cublas(cublas_.create(&handle), "making a handle");
  handle_.reset(handle);
  check_cublas(cublas_.set_stream(handle, stream), "choosing a stream");
  check_cublas(cublas_.set_workspace(handle, workspace_.data(), workspace_bytes), "setting the workspace");
  check_cublas(cublas_.set_math_mode(handle, default_math), "setting the math mode");
}

void CublasHandle::Destroy::operator()(void* handle) const {
  if (const int status = cublas().destroy(handle))
    std::fprintf(stderr, "npgpu: cuBLAS: destroying a handle: status %d\n", status);
}

}  // namespace npgpu::cuda
