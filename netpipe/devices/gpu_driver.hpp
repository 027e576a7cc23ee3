// Whether this program can ask how many GPUs there are, which is another question than the number. Each family with
// GPUs of this machine has one, which joins as a GpuDriver.
#pragma once

#include <algorithm>
#include <string_view>

#include "npgpu/registry.hpp"

namespace npgpu {

class GpuDriver {
 public:
  virtual ~GpuDriver() = default;
  virtual std::string_view rank() const = 0;  // the family's kind
  // False where the program was built without the API, where there is no driver, or too old a one.
  virtual bool can_ask() const = 0;
};

namespace devices {

// False: that devices::gpus() is empty says nothing of the machine.
inline bool can_ask_for_gpus() {
  return std::ranges::any_of(registered<GpuDriver>(), [](const auto& driver) { return driver->can_ask(); });
}

}  // namespace devices

}  // namespace npgpu
