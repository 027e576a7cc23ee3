// NVML, opened at run time: clocks, power, temperature, the PCIe link, who else uses the GPU, and the census of GPUs.
// Its absence only means that these are not known. Neither nvml.h nor the CUDA toolkit is needed to build: library.hpp
// declares the few functions that are used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/host/pci.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu::nvml {

// How much of a GPU a process used: percent of the time in which its kernels ran, and in which it moved memory.
struct Use {
  long pid = 0;
  unsigned compute_percent = 0, memory_percent = 0;
};

// What went over a GPU's PCIe link since some moment; both wrap.
struct LinkBytes {
  std::uint32_t sent = 0, received = 0;
};

// One GPU as NVML knows it.
class Device {
 public:
  // By PCI bus id, because ordinals differ where CUDA_VISIBLE_DEVICES is set. Nothing where NVML is not
  // there or does not know the GPU; `why` then says which.
  static std::optional<Device> find(const std::string& pci_bus_id, std::string& why);

  // Clocks, power, temperature, reasons for reduced clocks. NaN (0 for the reasons) where NVML does not say.
  // Five questions, 1.2 us in all on an H200 with driver 580; other GPUs have been known to take milliseconds over
  // power. Ask between trials, never in one.
  Telemetry read() const;

  // What does not change during a run: a row each in facts.cpp, and its active NVLinks. Of what could not be read, why:
  // unread_link, ...
  Facts facts() const;

  // Those that have a context on the GPU, this one included; in a container perhaps only its own. Nothing where NVML
  // does not say.
  std::optional<std::vector<long>> processes() const;
  // Device memory of each of them; 0 where it is not known.
  std::optional<std::map<long, std::uint64_t>> memory_by_process() const;
  // Uses by processes after `since`, NVML's time stamp, which is then set to the newest. Takes
  // 1.3 ms on an H200. Nothing where NVML does not say at all.
  std::optional<std::vector<Use>> uses(std::uint64_t& since) const;
  // What may change during a run: counters of errors (ECC, remapped rows, retired pages, PCIe replays, NVLink, Xids
  // since this was first asked), links that are up, the state of the fabric, and what NVML says would mend the GPU. Of
  // what could not be read, why: unread_ecc, ...
  Facts counters() const;
  // What the PCIe link is trained to now.
  LinkState link_state() const;
  // Since the driver was loaded, in steps of 100 ms on H100 and H200. Nothing where the GPU does not count it.
  std::optional<double> energy_j() const;
  // At this moment, and no mean over the last second as Telemetry's; NaN where NVML does not say.
  double instantaneous_power_w() const;
  // Takes 0.15 ms on an H200. Nothing where the driver does not count them.
  std::optional<LinkBytes> link_bytes() const;

 private:
  explicit Device(void* handle) : handle_(handle) {}
  void* handle_;
};

// What NVML and the PCI bus say against the GPU at this bus id: that it is lost, or needs a reset before it answers
// again; nothing if it answers, or neither can be asked.
std::optional<std::string> why_lost(const std::string& pci_bus_id);

// How many GPUs there are, without starting CUDA; 0 where NVML is not there.
unsigned device_count();

// The NVIDIA GPUs that the bus shows, against those that the driver shows: one that is missing there is lost, hidden
// from this process, or another driver's.

// What the driver says of one GPU of the bus.
enum class Shown {
  yes,
  by_nvml_only,  // CUDA does not show it, and nothing says that it was hidden
  hidden,        // this process may not see it: CUDA_VISIBLE_DEVICES, a container, a cgroup, or MIG
  lost,          // the driver says that it does not answer
  unknown,       // it cannot be known from here
};
struct Sight {
  Shown shown = Shown::unknown;
  std::string why{};  // of all but yes
};

//   gpus_on_bus    how many the bus shows
//   gpus_lost      those that do not answer, with the reason: "0000:b3:00.0: NVML: GPU is lost; ..."
//   gpus_hidden    those that others have, or that this process may not see; gpus_unknown: of which nothing is known
// Texts only where there are such GPUs. Empty where the bus shows none.
Facts census_of(const std::vector<host::PciGpu>&, const std::function<Sight(const std::string& bus_id)>&);

// Whether CUDA_VISIBLE_DEVICES, which is `list`, hides a GPU that NVML shows and CUDA does not. NVML numbers
// GPUs by their bus ids, as CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID only; `gpus` are NVML's, `by_cuda` is CUDA's
// number.
struct Visible {
  std::string list{};
  bool is_in_bus_order = false;
  unsigned gpus = 0;
  std::size_t by_cuda = 0;
};
Sight sight_of_unlisted(const Visible&, const std::string& uuid, unsigned number);

// The census of this machine, whose GPUs CUDA lists so.
Facts census_of_machine(const std::vector<DeviceInfo>& by_cuda);

}  // namespace npgpu::nvml
