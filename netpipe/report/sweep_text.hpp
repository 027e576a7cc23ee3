// One sweep as a person reads it: what was asked of what, the table, what the table leaves out, the curve.
#pragma once

#include <string>

#include "npgpu/report.hpp"

namespace npgpu {

std::string sweep_text(const TransferSeries&, const TextStyle&);

// "h2d"; the other lane "d2h", or "d2d back" where a direction is its own reverse.
std::string lane_name(const TransferCase&, std::uint32_t lane);

// "SIMULATED " before the title of a sweep that is no measurement.
std::string honest_title(const TransferSeries&);

}  // namespace npgpu
