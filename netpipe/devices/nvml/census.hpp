// The NVIDIA GPUs that the bus shows, against those that the driver shows: one that is missing there is lost, hidden
// from this process, or another driver's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "netpipe/devices/host/pci.hpp"
#include "npgpu/device.hpp"

namespace npgpu::nvml {

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

// Of this machine, whose GPUs CUDA lists so.
Facts census_of_machine(const std::vector<DeviceInfo>& by_cuda);

}  // namespace npgpu::nvml
