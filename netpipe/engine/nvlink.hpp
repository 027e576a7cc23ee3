// What NVLinks between two GPUs carry, by what the driver says of both.
#pragma once

#include <string>
#include <vector>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu {

// The NVLinks of one GPU that are active.
struct Nvlinks {
  double count = 0;
  std::string version{};           // "4.0"; empty or "unknown": the driver does not say
  std::string to{};                // "0000:18:00.0 x18, switch x2"; empty: the driver does not say
  double mb_per_s = not_measured;  // of each, one way, as the driver says; newer GPUs only
  std::string bus{};               // the GPU's own PCI address, by which others' `to` name it
};
Nvlinks nvlinks_of(const Facts&, std::string bus);

// Bytes a second of one link, one way: what the driver says, or by the generation. NaN: neither is known.
double nvlink_rate(const Nvlinks&);
// "18 NVLinks 4.0"; without a generation that is not known.
std::string nvlinks_text(double count, const Nvlinks&);
// How many of them join the two; 0: none. `buses`: addresses of all GPUs of the node that are known.
double nvlinks_between(const Nvlinks&, const Nvlinks&, const std::vector<std::string>& buses);
// One way. NaN where no NVLink joins the two, or its rate is not known.
Limit nvlink_limit(const Nvlinks&, const Nvlinks&, const std::vector<std::string>& buses);

// The same of two GPUs of a node; over PCIe where no NVLink joins them; and what the first says of its fastest link
// where the rate of its NVLinks is not known.
Limit peer_limit(const DeviceInfo& from, const DeviceInfo& to, const std::vector<std::string>& buses);

}  // namespace npgpu
