// What the modules of CUDA copies share: everything but the name and the call.
#pragma once

#include "netpipe/devices/cuda/copy_layout.hpp"
#include "npgpu/module.hpp"

namespace npgpu::cuda {

class Copies : public Module {
 public:
  std::string_view device_kind() const override { return "cuda"; }
  std::optional<std::string> refuses_case(const TransferCase& c) const override { return why_refused(c); }
  MemoryNeed needs_lane(const TransferCase& c, std::uint64_t max_bytes) const override {
    return cuda::needs(c, max_bytes, footprint_bytes(c));
  }
  MemoryNeed available(const TransferCase& c) const override { return cuda::available(c); }
};

}  // namespace npgpu::cuda
