// cuBLAS and cuBLASLt, found at run time, and the matrices that they multiply. Nothing links the libraries, so that the
// program builds and starts without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "probes/gemm/elements.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu::cuda {

// The functions that are used, as cuBLAS documents them; a handle is a pointer, a status 0 where all went well, an
// operation 0 where nothing is transposed, and 1 where it is.
struct Cublas {
  using Handle = void*;
  template <class Real>
  using Gemm = int (*)(Handle, int, int, int, int, int, const Real*, const Real*, int, const Real*, int, const Real*,
                       Real*, int);
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
  int (*set_math_mode)(Handle, int) = nullptr;
  int (*get_property)(int, int*) = nullptr;
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  std::string text;     // "cuBLAS 13.0.2 (libcublas.so.13), default math, workspace 32 MiB"
  std::string why_not;  // in one sentence; empty if it is there
};
// Looked for once: $NPGPU_CUBLAS, then libcublas.so of the major versions 13, 12 and 11.
const Cublas& cublas();

// Throws Error(failed) with what was tried.
void check_cublas(int status, const char* what);

// A handle for one stream of the device that is current.
class CublasHandle {
 public:
  static constexpr std::uint64_t workspace_bytes = 32 * MiB;  // what cuBLAS itself takes on Hopper

  explicit CublasHandle(cudaStream_t);
  // Enqueues columns of C, as the call says; alpha times a sign. The matrices begin at a, b and c.
  void multiply(const float* a, const float* b, float* c, const gemm::Call& one, int sign = 1) const {
    call(cublas_.sgemm, a, b, c, one, sign);
  }
  void multiply(const double* a, const double* b, double* c, const gemm::Call& one, int sign = 1) const {
    call(cublas_.dgemm, a, b, c, one, sign);
  }

 private:
  template <class Real>
  void call(Cublas::Gemm<Real> gemm, const Real* a, const Real* b, Real* c, const gemm::Call& one, int sign) const {
    const Real alpha = static_cast<Real>(sign * one.alpha), beta = static_cast<Real>(one.beta);
    check_status(gemm(handle_.get(), one.transpose_a, one.transpose_b, static_cast<int>(one.m), static_cast<int>(one.n),
                      static_cast<int>(one.k), &alpha, a, static_cast<int>(one.lda), b + one.first_of_b,
                      static_cast<int>(one.ldb), &beta, c + one.first_of_c, static_cast<int>(one.ldc)));
  }
  static void check_status(int status) {
    if (status != 0) [[unlikely]]
      check_cublas(status, "a product of matrices");
  }
  struct Destroy {
    void operator()(void* handle) const;
  };
  const Cublas& cublas_ = cublas();
  Buffer workspace_;
  std::unique_ptr<void, Destroy> handle_;
};

// cuBLASLt, found at run time: products of the types that only tensor cores multiply.

// The functions that are used, as cuBLASLt documents them; handles and descriptions are pointers, a status 0 where all
// went well.
struct CublasLt {
  using Pointer = void*;
  int (*create)(Pointer*) = nullptr;
  int (*destroy)(Pointer) = nullptr;
  std::size_t (*version)() = nullptr;
  int (*create_product)(Pointer*, int compute, int scale) = nullptr;
  int (*set_product)(Pointer, int attribute, const void*, std::size_t) = nullptr;
  int (*destroy_product)(Pointer) = nullptr;
  int (*create_layout)(Pointer*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) = nullptr;
  int (*destroy_layout)(Pointer) = nullptr;
  int (*create_preference)(Pointer*) = nullptr;
  int (*set_preference)(Pointer, int attribute, const void*, std::size_t) = nullptr;
  int (*destroy_preference)(Pointer) = nullptr;
  int (*propose)(Pointer, Pointer product, Pointer a, Pointer b, Pointer c, Pointer d, Pointer preference, int wanted,
                 void* proposals, int* count) = nullptr;
  int (*multiply)(Pointer, Pointer product, const void* alpha, const void* a, Pointer, const void* b, Pointer,
                  const void* beta, const void* c, Pointer, void* d, Pointer, const void* algorithm, void* workspace,
                  std::size_t, cudaStream_t) = nullptr;
  std::string text;     // "cuBLASLt 13.0.2 (libcublasLt.so.13), its first proposal, workspace 32 MiB"
  std::string why_not;  // in one sentence; empty if it is there
};
// Looked for once: $NPGPU_CUBLASLT, then libcublasLt.so of the major versions 13, 12 and 11.
const CublasLt& cublas_lt();

// A handle for one stream of the device that is current.
class CublasLtHandle {
 public:
  static constexpr std::uint64_t workspace_bytes = 32 * MiB;

  explicit CublasLtHandle(cudaStream_t);
  // What multiply() does from now on. Throws Error(usage) where the library has no such product.
  void prepare(DataType, const gemm::Call&);
  // Enqueues C as the call says; alpha times a sign.
  void multiply(const void* a, const void* b, void* c, int sign) const;

 private:
  using Owned = std::unique_ptr<void, int (*)(void*)>;
  struct Proposal {  // as cuBLASLt lays it out
    std::uint64_t algorithm[8] = {};
    std::size_t workspace_bytes = 0;
    int status = 0;
    float waves = 0;
    int reserved[4] = {};
  };
  Owned layout(int type, std::uint64_t rows, std::uint64_t columns) const;

  const CublasLt& lt_ = cublas_lt();
  cudaStream_t stream_;
  Buffer workspace_;
  Owned handle_, product_, a_, b_, c_;
  Proposal proposal_;
  bool in_whole_numbers_ = false;  // alpha and beta are
  std::int32_t alpha_ = 1, beta_ = 0;
};

// Matrices of a gemm in a GPU's memory: filled, and compared with what they must be.

// A, B and what C holds at first, of that type and as they lie in memory by the shape's ops.
void fill_operands(const ProbeCase&, const Shape&, void* a, void* b, cudaStream_t);
void fill_first(const ProbeCase&, const Shape&, void* c, cudaStream_t);
// Writes the place of the first element of C that is not what it must be to `place`, which holds a larger number; all
// are pointers of the device.
void find_wrong(const ProbeCase&, const Shape&, const void* c, const gemm::Product&, const gemm::Update&,
                unsigned long long* place, cudaStream_t);

}  // namespace npgpu::cuda
