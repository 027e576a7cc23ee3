// The state of a simulated device, as NVML would report it of a GPU: settings, counters, clocks under load, its link,
// and who else uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "npgpu/device.hpp"

namespace npgpu::simulated {

struct Neighbour {
  std::string name;  // "python3 (4711)"
  std::uint32_t causes = 0;
};

struct Condition {
  Facts facts;           // by the names that a GPU's have
  Facts counters, rise;  // before a run, and what a run adds to them
  LinkState link;
  std::optional<Telemetry> telemetry;
  std::optional<Neighbour> neighbour;
};

class JsonObject;
Condition read_condition(const JsonObject& spec);

}  // namespace npgpu::simulated
