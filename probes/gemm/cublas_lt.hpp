// cuBLASLt, found at run time: products of the types that only tensor cores multiply.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "netpipe/devices/cuda/handles.hpp"
#include "probes/gemm/gemm.hpp"

namespace npgpu::cuda {

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

}  // namespace npgpu::cuda
