// The GPUs of this machine, as they describe themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/host/topology.hpp"
#include "netpipe/devices/nvml/nvml.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::cuda {

// All GPUs that the driver shows, in its order; empty where there is none (check.hpp's why_no_device says
// why). Only attributes are asked: no context is made, so that looking at a node takes no memory on its
// GPUs. Asked once a process.
const std::vector<DeviceInfo>& inventory();
const DeviceInfo& info_of(int ordinal);
// Null until it was asked for: what is called while it is made may not ask for it.
const std::vector<DeviceInfo>* inventory_if_made();

// 3 from "cuda:3"; nothing for anything else.
std::optional<int> ordinal_of(std::string_view device);

// Why `device` is no CUDA device of this machine, in one sentence; nothing if it is one.
std::optional<std::string> why_not_there(std::string_view device);
// Throws Error with that sentence.
int ordinal_or_throw(std::string_view device);

// Throws Error(failed).
int attribute(cudaDeviceAttr which, int ordinal);
// Attributes that a newer runtime knows and an older driver does not: nothing instead of an error.
std::optional<int> maybe_attribute(cudaDeviceAttr which, int ordinal);

// Theoretical rates, from the facts of an inventory: of what GPU and slot can do at most, whatever the link is trained
// to and the clocks are now.
Limit link_limit(const Facts&);
Limit memory_limit(const Facts&);
Limit peer_limit(const Facts&);

// Makes the device current, and so its context, which itself takes some hundred MiB.
std::uint64_t free_memory(int ordinal);
std::uint64_t l2_bytes(int ordinal);

// One GPU as all that measure on it have it: the calling thread is bound near it, or to the host's NUMA node that is
// given, as long as this lives.
class Gpu {
 public:
  explicit Gpu(int ordinal, bool bind = true, int host_node = -1);
  int ordinal() const { return ordinal_; }
  void make_current() const { cuda::make_current(ordinal_); }
  const std::string& binding() const { return binding_.text(); }
  Telemetry telemetry() const { return nvml_ ? nvml_->read() : Telemetry{}; }

 private:
  int ordinal_;
  host::Binding binding_;
  std::optional<nvml::Device> nvml_;
};

}  // namespace npgpu::cuda
