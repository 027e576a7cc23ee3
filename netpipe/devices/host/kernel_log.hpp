// What the kernel's log says of GPUs: Xids and SXids, NVIDIA's numbers for errors of GPUs and of NVSwitches.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace npgpu::host {

// The records that the log still holds. Nothing where it cannot be read: by kernel.dmesg_restrict, or because what is
// at this path is another device, as containers have a console there.
std::optional<std::vector<std::string>> kernel_log(const std::filesystem::path& = "/dev/kmsg");

// Xids that say nothing against the GPU: faults of a program raise them as often (13 and 31 for its kernels' exceptions
// and page faults, 43 and 45 where it was stopped or cleaned up after, those of the video engines), or they are
// only information. After NVIDIA's Xid catalogue.
bool is_of_a_program(unsigned long long xid);
// "13,154" of NPGPU_IGNORE_XID: Xids that the user of this machine does not count; empty: none.
std::string ignored_xids();
// Those of programs, and those that are ignored.
bool does_not_count(unsigned long long xid);
// Those of NVLink 5, of which the log says whether they are fatal, and the number does not.
constexpr bool is_of_nvlink5(unsigned long long xid) { return xid >= 144 && xid <= 150; }

// What a log reports of one GPU.
struct LoggedErrors {
  // Without those above, and without 154 where it changes the recovery action to None. A silent GSP and errors of PCIe
  // count as one each.
  std::size_t xids = 0;
  unsigned last_xid = 0;          // 0: none
  std::size_t switch_errors = 0;  // SXids of the node's NVSwitches that are not marked as non-fatal: they are any GPU's
  unsigned last_switch_error = 0;
  // In words without an Xid: it fell off the bus, or could not be started; the firmware of its GSP does not answer.
  bool is_lost = false, is_gsp_silent = false;
  bool has_link_errors = false;  // uncorrected errors of PCIe (AER), of the GPU or of the port above it

  std::size_t count() const { return xids + switch_errors + (is_lost && last_xid == 0); }
  // "the GPU fell off the bus; ..." of what has no number; empty where there is none.
  std::string words() const;
};

// Errors in records as "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus". Those that are marked as
// non-fatal or injected do not count. One that was caused by a previous Xid counts as that one, if that is not in the
// log. `port`: the bus id of the bridge above the GPU; empty: not known.
LoggedErrors errors_of(const std::vector<std::string>& log, const std::string& pci_bus_id,
                       const std::string& port = {});

}  // namespace npgpu::host
