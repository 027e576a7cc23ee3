#include "probes/gemm/cublas.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "npgpu/vocabulary/units.hpp"
#include "probes/gemm/blas.hpp"

namespace npgpu::cuda {

namespace {

constexpr const char* unknown_version = "of an unknown version";
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
    bool is_known = true;
    for (int part = 0; part < 3; ++part) is_known &= c.get_property(part, &version[part]) == 0 && version[part] >= 0;
    c.text = fmt::format("cuBLAS {} ({}), default math, workspace {}{}",
                         is_known ? fmt::format("{}.{}.{}", version[0], version[1], version[2]) : unknown_version, name,
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

namespace {

// Codes, as cuBLAS documents them.
constexpr int compute_fp32 = 68, compute_tf32 = 77, compute_int32 = 72;
constexpr int r_32f = 0, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, r_8f_e4m3 = 28;
constexpr int transpose_a = 3, transpose_b = 4, most_workspace = 1;

bool find_functions(void* library, CublasLt& lt) {
  using gemm::find;
  return find(library, lt.create, "cublasLtCreate") && find(library, lt.destroy, "cublasLtDestroy") &&
         find(library, lt.version, "cublasLtGetVersion") &&
         find(library, lt.create_product, "cublasLtMatmulDescCreate") &&
         find(library, lt.set_product, "cublasLtMatmulDescSetAttribute") &&
         find(library, lt.destroy_product, "cublasLtMatmulDescDestroy") &&
         find(library, lt.create_layout, "cublasLtMatrixLayoutCreate") &&
         find(library, lt.destroy_layout, "cublasLtMatrixLayoutDestroy") &&
         find(library, lt.create_preference, "cublasLtMatmulPreferenceCreate") &&
         find(library, lt.set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
         find(library, lt.destroy_preference, "cublasLtMatmulPreferenceDestroy") &&
         find(library, lt.propose, "cublasLtMatmulAlgoGetHeuristic") && find(library, lt.multiply, "cublasLtMatmul");
}

// 130002 is 13.0.2; before 13, 120804 is 12.8.4.
std::string version_text(std::size_t version) {
  if (version == 0) return unknown_version;
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

CublasLt look_for_lt() {
  constexpr const char* variable = "NPGPU_CUBLASLT";
  const auto take = [](void* library, const std::string& name, CublasLt& lt) {
    if (!find_functions(library, lt)) return false;
    lt.text = fmt::format("cuBLASLt {} ({}), its first proposal, workspace {}", version_text(lt.version()), name,
                          size_text(CublasLtHandle::workspace_bytes));
    return true;
  };
  if (auto found =
          gemm::look_for<CublasLt>(variable, {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}, take))
    return *found;
  CublasLt none;
  none.why_not =
      fmt::format("cuBLASLt is not there: {}; install CUDA's libcublas, or name the library in NPGPU_CUBLASLT",
                  gemm::chosen_library(variable)
                      ? "the library that NPGPU_CUBLASLT names has no cublasLtMatmul and the like, or cannot be "
                        "opened"
                      : "no libcublasLt.so.13, .12 or .11 is where the system looks for libraries");
  return none;
}

struct Codes {
  int operand, result, compute, scale;
};
Codes codes_of(DataType type) {
  switch (type) {
    case DataType::fp16: return {r_16f, r_32f, compute_fp32, r_32f};
    case DataType::bf16: return {r_16bf, r_32f, compute_fp32, r_32f};
    case DataType::fp8: return {r_8f_e4m3, r_32f, compute_fp32, r_32f};
    case DataType::int8: return {r_8i, r_32i, compute_int32, r_32i};
    default: return {r_32f, r_32f, compute_tf32, r_32f};
  }
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt found = look_for_lt();
  return found;
}

CublasLtHandle::CublasLtHandle(cudaStream_t stream)
    : stream_(stream),
      workspace_(Memory::device, workspace_bytes),
      handle_(nullptr, lt_.destroy),
      product_(nullptr, lt_.destroy_product),
      a_(nullptr, lt_.destroy_layout),
      b_(nullptr, lt_.destroy_layout),
      c_(nullptr, lt_.destroy_layout) {
  if (!lt_.why_not.empty()) throw Error(ErrorKind::usage, lt_.why_not);
  void* handle = nullptr;
  check_cublas(lt_.create(&handle), "making a handle of cuBLASLt");
  handle_.reset(handle);
}

CublasLtHandle::Owned CublasLtHandle::layout(int type, std::uint64_t rows, std::uint64_t columns) const {
  void* made = nullptr;
  check_cublas(lt_.create_layout(&made, type, rows, columns, static_cast<std::int64_t>(rows)), "describing a matrix");
  return {made, lt_.destroy_layout};
}

void CublasLtHandle::prepare(DataType type, const gemm::Call& call) {
  const Codes codes = codes_of(type);
  void* made = nullptr;
  check_cublas(lt_.create_product(&made, codes.compute, codes.scale), "describing a product");
  product_.reset(made);
  for (const auto& [attribute, wanted] :
       {std::pair{transpose_a, call.transpose_a}, std::pair{transpose_b, call.transpose_b}}) {
    const int operation = wanted;
    check_cublas(lt_.set_product(made, attribute, &operation, sizeof operation), "describing a product");
  }
  a_ = layout(codes.operand, call.transpose_a ? call.k : call.m, call.transpose_a ? call.m : call.k);
  b_ = layout(codes.operand, call.transpose_b ? call.n : call.k, call.transpose_b ? call.k : call.n);
  c_ = layout(codes.result, call.m, call.n);
  void* preference = nullptr;
  check_cublas(lt_.create_preference(&preference), "choosing an algorithm");
  const Owned owned(preference, lt_.destroy_preference);
  const std::uint64_t bytes = workspace_bytes;
  check_cublas(lt_.set_preference(preference, most_workspace, &bytes, sizeof bytes), "choosing an algorithm");
  int count = 0;
  const int status =
      lt_.propose(handle_.get(), made, a_.get(), b_.get(), c_.get(), c_.get(), preference, 1, &proposal_, &count);
  if (status != 0 || count < 1 || proposal_.status != 0)
    throw Error(ErrorKind::usage, fmt::format("cuBLASLt proposes no algorithm for {} with m {}, n {}, k {}: status {}",
                                              name(type), call.m, call.n, call.k, status));
  if (proposal_.workspace_bytes > workspace_bytes)
    throw Error(ErrorKind::failed, fmt::format("cuBLASLt proposes an algorithm that needs a workspace of {}, where {} "
                                               "is the most that it was to take",
                                               size_text(proposal_.workspace_bytes), size_text(workspace_bytes)));
  in_whole_numbers_ = codes.scale == r_32i;
  alpha_ = call.alpha;
  beta_ = call.beta;
}

void CublasLtHandle::multiply(const void* a, const void* b, void* c, int sign) const {
  const std::int32_t alpha = sign * alpha_;
  const float real_alpha = static_cast<float>(alpha), real_beta = static_cast<float>(beta_);
  const void* const by = in_whole_numbers_ ? static_cast<const void*>(&alpha) : &real_alpha;
  const void* const of_c = in_whole_numbers_ ? static_cast<const void*>(&beta_) : &real_beta;
  const int status = lt_.multiply(handle_.get(), product_.get(), by, a, a_.get(), b, b_.get(), of_c, c, c_.get(), c,
                                  c_.get(), proposal_.algorithm, workspace_.data(), workspace_bytes, stream_);
  if (status != 0) [[unlikely]]
    check_cublas(status, "a product of matrices by cuBLASLt");
}

}  // namespace npgpu::cuda
