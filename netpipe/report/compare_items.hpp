// What a comparison's first sentence names.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/model/compare.hpp"

namespace npgpu {

// Bands of times, as DriftByTime has them.
inline constexpr std::array<std::string_view, 4> band_names{"below 10 us", "10 .. 100 us", ".. 1 ms", "above 1 ms"};

std::string share_text(double share);       // "+3.1"; "-" if it is not known
std::string spaced(std::string_view name);  // "host-copies" as "host copies"

// "H2D pinned, async copies from 1 MiB, by 5.1 % (4.6 .. 5.6)": what is slower, the most first, and how much is not
// named.
std::vector<std::string> slower_items(const Comparison&);
// "fp32 compute: B: void: ...": what has wrong results or no figure.
std::vector<std::string> broken_items(const Comparison&);
// "fma fp32 (random), by 5.1 % (4.6 .. 5.6)": work that takes more energy.
std::vector<std::string> more_energy_items(const Comparison&);
// An energy's a or b as it is shown: pJ of an operation or a byte; W of rest.
double in_energy_unit(const EnergyChange&, double value);

}  // namespace npgpu
