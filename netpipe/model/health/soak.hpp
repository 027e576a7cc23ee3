// Judges of soaks: of one device, and of several compared with each other.
#pragma once

#include <string>
#include <vector>

#include "npgpu/judge/health.hpp"
#include "npgpu/model/figures.hpp"

namespace npgpu::model {

class Findings;

// "too hot after 4 min 2 s"; empty of a device that was not soaked, or not throttled then.
std::string throttled_since_text(const std::vector<SoakDevice>&, const std::string& device);

// Rates that fell while they ran, and wrong words of memory. What else a soak shows (wrong results, lost devices,
// counters, throttling) is judged with all other measurements.
void judge_soak(Findings&, const std::vector<SoakDevice>&);
// Findings of devices that are hotter or slower than the others.
std::vector<HealthFinding> soak_neighbours(const std::vector<SoakDevice>&);

}  // namespace npgpu::model
