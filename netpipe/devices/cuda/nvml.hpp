// NVML, opened at run time: clocks, power, temperature, the PCIe link. Its absence only means that these are
// not known. No nvml.h is needed to build: the few functions used are declared in nvml.cpp.
#pragma once

#include <optional>
#include <string>

#include "npgpu/device.hpp"

namespace npgpu::cuda {

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

// Rate of one direction of a PCIe link, as its signalling and line code allow, with the formula in words.
// Of an unknown generation: NaN.
Limit pcie_limit(unsigned generation, unsigned lanes);

}  // namespace npgpu::cuda
