// The place of a PCI device in this machine, as Linux has it in /sys: its slot, the IOMMU, the bridges above it, the
// processors near it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu::host {

// As Linux writes it: in lower case, with four digits of a domain where CUDA and NVML may write eight.
std::string linux_bus_id(std::string bus_id);

// Whether nothing answers at this bus id: its configuration space, of which anybody may read the first bytes, reads all
// ones. False also where it cannot be read.
bool is_off_the_bus(std::string bus_id, const std::filesystem::path& sys = "/sys");

// An NVIDIA GPU that the bus shows, whatever drivers say of it. Virtual functions are none.
struct PciGpu {
  std::string bus_id;     // "0000:3b:00.0"
  std::string device_id;  // "0x2335": the same for GPUs of a model
  std::string driver;     // that has it: "nvidia", "vfio-pci"; empty: none
  bool is_3d = false;     // a 3D controller, which has no display: those of data centres
  bool answers = true;    // its configuration space does not read all ones
};
std::vector<PciGpu> nvidia_gpus(const std::filesystem::path& sys = "/sys");

//   near_cpus             "0-31,64-95"
//   slot_pcie_generation  the most that the port above it can do; slot_pcie_lanes too
//   iommu_domain          "identity", "DMA", "DMA-FQ"; "none": it is in no group, so no IOMMU is seen
//   acs_redirects         bridges above it that redirect requests between devices; only where their configuration can
//                         be read, which takes root
//   aer_fatal, ...        see pcie_errors()
// What cannot be read is left out.
Facts pci_facts(std::string bus_id, const std::filesystem::path& sys = "/sys");

// Uncorrected errors of the GPU's link since Linux started, counted by the GPU and by the port above it: aer_fatal and
// aer_nonfatal (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats). Anybody may read them. Empty without AER.
Facts pcie_errors(std::string bus_id, const std::filesystem::path& sys = "/sys");

// Rate of one direction of a PCIe link, as its signalling and line code allow, with the formula in words.
// An unknown generation's is NaN.
Limit pcie_limit(unsigned generation, unsigned lanes);

// The device's own link, as it is trained now, or the most that it can do; 0: not known.
enum class LinkAt { now, best };
LinkState pci_link(std::string bus_id, LinkAt, const std::filesystem::path& sys = "/sys");
// The NUMA node that the device is nearest to; -1: unknown, or there is only one.
int pci_numa_node(std::string bus_id, const std::filesystem::path& sys = "/sys");

}  // namespace npgpu::host
