// The pattern of devices/host/payload.hpp (its words, poison and guards), written and compared by the GPU: in
// device memory and, through their mapping, in pinned and write-combined host memory, where the CPU would be
// slower, and for reading write-combined memory very slow. test: tests/gpu/payload_test.cpp has both agree.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/handles.hpp"
#include "netpipe/devices/host/payload.hpp"

namespace npgpu::cuda {

using payload::Slots;

// One byte that is not what it should be.
struct WrongByte {
  std::uint64_t slot = 0;
  std::int64_t place = 0;  // in the payload; negative or >= bytes: in the guards
  std::uint8_t expected = 0;
  std::uint8_t actual = 0;
  bool all_zero = false;  // all of the payload, of at least payload::fewest_zeros bytes
};
// In the words of the host's payload.
std::string sentence(const WrongByte&, std::uint64_t bytes);

class PayloadKernels {
 public:
  PayloadKernels();  // loads the kernels, so that none is loaded behind a gate

  // In stream order, not waited for.
  void fill(const Slots&, cudaStream_t);    // the payload between source margins: a source
  void poison(const Slots&, cudaStream_t);  // the complement and both guards: a target
  // Waits for the stream. The first wrong byte of the first slot that has one: of its payload, or else of its guards.
  std::optional<WrongByte> first_wrong(const Slots&, cudaStream_t);

 private:
  bool is_all_zero(const Slots& one, cudaStream_t);

  Buffer verdict_;  // on the device
  // Pinned: a copy to pageable memory could leave staging behind it, to be cleared up in somebody's timed region.
  Buffer readback_;
};

}  // namespace npgpu::cuda
