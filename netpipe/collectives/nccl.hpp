// NCCL, found at run time: nothing is linked and no header of it is needed; and what it chooses, by its own log. These
// are the few functions and numbers of its public API (docs.nvidia.com/deeplearning/nccl/user-guide, "NCCL API") that
// are used here, which have been the same since version 2.13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/collective.hpp"

struct CUstream_st;  // of CUDA

namespace npgpu::nccl {

using Communicator = struct ncclComm*;
using CudaStream = CUstream_st*;

// ncclResult_t
constexpr int success = 0, remote_error = 6, in_progress = 7;
// ncclRedOp_t
constexpr int sum = 0;
// ncclDataType_t
constexpr int int8 = 0, fp16 = 6, fp32 = 7, bf16 = 9;
int type_of(DataType);  // REQUIRES: element_bytes() is not 0

struct Library {
  std::string why_not;  // it cannot be used: one sentence; empty if it can
  std::string text;     // "NCCL 2.28.9 (libnccl.so.2), NCCL_NVLS_ENABLE=0"
  int version = 0;      // 22809

  int (*get_version)(int*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;
  int (*init_all)(Communicator*, int count, const int* devices) = nullptr;
  int (*destroy)(Communicator) = nullptr;
  int (*abort)(Communicator) = nullptr;
  int (*async_error)(Communicator, int* result) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t count, int type, int op, Communicator, CudaStream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t count, int type, int op, Communicator, CudaStream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t count, int type, Communicator, CudaStream) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t count, int type, int root, Communicator, CudaStream) = nullptr;
  int (*reduce)(const void*, void*, std::size_t count, int type, int op, int root, Communicator, CudaStream) = nullptr;
  int (*send)(const void*, std::size_t count, int type, int peer, Communicator, CudaStream) = nullptr;
  int (*receive)(void*, std::size_t count, int type, int peer, Communicator, CudaStream) = nullptr;

  // NCCL_DEBUG and what belongs to it are read again. Null before 2.24.
  void (*reset_debug)() = nullptr;
};

// The library that NPGPU_NCCL names, or libnccl.so.2 where the system looks. Never throws.
Library load();
// The same, loaded once.
const Library& library();

// Throws Error(failed), "NCCL: joining the GPUs: unhandled cuda error (...)". `communicator` may be null.
void check(int result, const char* what, Communicator = nullptr);

// What NCCL chooses for an operation, as its own log says it: algorithm, protocol and channels
// (NCCL_DEBUG_SUBSYS=TUNING), and the path between the GPUs.

// As in CollectiveSample; -1 where the log does not say.
struct Choice {
  std::int32_t algorithm = -1, protocol = -1, channels = -1, path = -1;
};
// The choice for the last operation in the log. The path is the slowest one of all connections.
Choice choice_in(std::string_view log);

// NCCL logs into memory of this process while this lives. Not if the library is older than 2.24, or the user asked for
// more than warnings, or for a log in a file: then text() is empty.
class Log {
 public:
  explicit Log(const Library& = library());
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  std::string text() const;

 private:
  const Library& library_;
  process::Descriptor file_;
  std::optional<std::string> level_, subsystems_, path_;  // as they were
};

}  // namespace npgpu::nccl
