// What the kernel's log says of GPUs: Xids, NVIDIA's numbers for errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace npgpu::host {

// The records that the log still holds; nothing where it may not be read (kernel.dmesg_restrict).
std::optional<std::vector<std::string>> kernel_log();

// Xids that faults of a program raise, as often as those of a GPU: a kernel's exception, a page fault, a program that
// was stopped or cleaned up after (NVIDIA's list of Xids; its device plugin for Kubernetes passes over the same ones).
bool is_of_a_program(unsigned long long xid);

// Lines that report another Xid of this GPU, as "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus".
std::size_t count_xids(const std::vector<std::string>& log, const std::string& pci_bus_id);

}  // namespace npgpu::host
