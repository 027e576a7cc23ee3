// cuBLAS, found at run time: nothing links it, so that the program builds and starts without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/probe.hpp"
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

}  // namespace npgpu::cuda
