// A meter that a thread reads again and again while the device works: counters step by themselves, and the moment of a
// step is only seen by looking.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "npgpu/vocabulary/load.hpp"

namespace npgpu::devices {

struct PolledSource {
  std::string name{};
  // Energy since some moment, in J; nothing where it cannot be read now. Empty: there is no counter, and power_w
  // stands for it.
  std::function<std::optional<double>()> joules{};
  // The instantaneous power; NaN where it cannot be read now.
  std::function<double()> power_w = [] { return not_measured; };
  std::function<Telemetry()> state = [] { return Telemetry{}; };
};

// The counter is read every 0.5 ms: of a window of 0.8 s either end is right to 0.1 %. Steps that follow each other
// within 10 ms count as one. State and power are read every 20 ms.
std::unique_ptr<EnergyMeter> polled_meter(PolledSource);

}  // namespace npgpu::devices
