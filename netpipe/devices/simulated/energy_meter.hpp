// The energy of a simulated device, from what its spec states under "hardware": energy_idle_w, energy_no_context_w, and
// for each kind of work the energy of one operation or byte over idle: energy_fma_fp32_pj, energy_mma_fp16_pj,
// energy_read_global_pj, energy_h2d_pj, ... Operands of zeros take energy_zeros_share of it, one pattern
// energy_pattern_share. A counter steps every 100 ms of its time. energy_sigma is the scatter of a window.
#pragma once

#include <memory>
#include <string>

#include "npgpu/vocabulary/load.hpp"

namespace npgpu::simulated {

// Null where the spec states no idle power; `why` then says so.
std::unique_ptr<EnergyMeter> energy_meter(const std::string& id, std::string& why);
// The key of a case's energy: "energy_read_l2_pj".
std::string energy_key(const EnergyCase&);

}  // namespace npgpu::simulated
