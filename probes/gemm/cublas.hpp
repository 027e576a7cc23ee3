// cuBLAS, found at run time: nothing links it, so that the program builds and starts without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/handles.hpp"
#include "npgpu/probe.hpp"

namespace npgpu::cuda {

// The functions that are used, as cuBLAS documents them; a handle is a pointer, a status 0 where all went well, an
// operation 0 where nothing is transposed.
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
  // Enqueues C = A * B, column by column: A has m rows, C too, B k.
  void multiply(const float* a, const float* b, float* c, std::uint32_t m, std::uint32_t n, std::uint32_t k) const {
    const float one = 1, zero = 0;
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), inner = static_cast<int>(k);
    check_status(cublas_.sgemm(handle_.get(), 0, 0, rows, columns, inner, &one, a, rows, b, inner, &zero, c, rows));
  }
  void multiply(const double* a, const double* b, double* c, std::uint32_t m, std::uint32_t n, std::uint32_t k) const {
    const double one = 1, zero = 0;
    const int rows = static_cast<int>(m), columns = static_cast<int>(n), inner = static_cast<int>(k);
    check_status(cublas_.dgemm(handle_.get(), 0, 0, rows, columns, inner, &one, a, rows, b, inner, &zero, c, rows));
  }

 private:
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
