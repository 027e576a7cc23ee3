// The place of a PCI device in this machine, as Linux tells it in /sys: its slot, the IOMMU, the bridges above it, the
// processors near it.
#pragma once

#include <filesystem>
#include <string>

#include "npgpu/device.hpp"

namespace npgpu::host {

//   near_cpus             "0-31,64-95"
//   slot_pcie_generation  the most that the port above it can do; slot_pcie_lanes too
//   iommu_domain          "identity", "DMA", "DMA-FQ"; "none": it is in no group, so no IOMMU is seen
//   acs_redirects         bridges above it that redirect requests between devices; only where their configuration can
//   be
//                         read, which takes root
// What cannot be read is left out.
Facts pci_facts(std::string bus_id, const std::filesystem::path& sys = "/sys");

}  // namespace npgpu::host
