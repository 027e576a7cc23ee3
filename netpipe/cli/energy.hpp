// Which windows of energy a device is asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "npgpu/measuring/campaign.hpp"

namespace npgpu::cli {

// Of an empty list the usual ones.
struct EnergyQuestions {
  std::vector<EnergyWork> work{};
  std::vector<DataType> types{};
  std::vector<Space> spaces{};
  std::vector<Operands> operands{};
  std::uint32_t window_ms = EnergyLoad{}.window_ms;
};

// Each at full work and at half of it, and rest once. Throws Error: usage or nothing where the device's energy cannot
// be read.
void add_energy(Plan&, const DeviceInfo&, const EnergyQuestions& = {});

}  // namespace npgpu::cli
