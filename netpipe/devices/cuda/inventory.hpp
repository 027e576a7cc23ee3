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
#include "npgpu/device.hpp"

namespace npgpu::cuda {

// All GPUs that the driver shows, in its order; empty where there is none (check.hpp's why_no_device says
// why). Only attributes are asked: no context is made, so that looking at a node takes no memory on its
// GPUs. Asked once a process.
const std::vector<DeviceInfo>& inventory();
const DeviceInfo& info_of(int ordinal);

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

// Makes the device current, and so its context, which itself takes some hundred MiB.
std::uint64_t free_memory(int ordinal);
std::uint64_t l2_bytes(int ordinal);

// NVML, opened at run time: clocks, power, temperature, the PCIe link. Its absence only means that these are
// not known. No nvml.h is needed to build: the few functions used are declared in inventory.cpp.

// One GPU as NVML knows it.
class NvmlDevice {
 public:
  // By PCI bus id, because ordinals differ where CUDA_VISIBLE_DEVICES is set. Nothing where NVML is not
  // there or does not know the GPU; `why` then says which.
  static std::optional<NvmlDevice> find(const std::string& pci_bus_id, std::string& why);

  // Clocks, power, temperature, reasons for reduced clocks. NaN (0 for the reasons) where NVML does not say.
  // Five questions, 1.2 us in all on an H200 with driver 580; other GPUs have been known to take milliseconds over
  // power. Ask between trials, never in one.
  Telemetry read() const;

  // Driver version, power limit, largest clocks, persistence and MIG modes; of the PCIe link what it is trained to now,
  // what GPU and slot can have together, and what the GPU alone could have.
  Facts facts() const;

 private:
  explicit NvmlDevice(void* handle) : handle_(handle) {}
  void* handle_;
};

// One GPU as all that measure on it have it: the calling thread is bound near it as long as this lives.
class Gpu {
 public:
  explicit Gpu(int ordinal, bool bind = true);
  int ordinal() const { return ordinal_; }
  void make_current() const { cuda::make_current(ordinal_); }
  const std::string& binding() const { return binding_.text(); }
  Telemetry telemetry() const { return nvml_ ? nvml_->read() : Telemetry{}; }

 private:
  int ordinal_;
  host::Binding binding_;
  std::optional<NvmlDevice> nvml_;
};

// Rate of one direction of a PCIe link, as its signalling and line code allow, with the formula in words.
// Of an unknown generation: NaN.
Limit pcie_limit(unsigned generation, unsigned lanes);

}  // namespace npgpu::cuda
