// A curve in words with numbers.
#pragma once

#include <span>
#include <string>

#include "npgpu/model.hpp"

namespace npgpu {

// Lines "  best  ..." down to "  fit  ...", each ended by a newline. What the points do not carry is said with its
// reason. `moved`: how many copies of a size one operation makes (2: both directions of a duplex together).
std::string curve_text(std::span<const PointSummary> one_lane, int moved, std::size_t width);

}  // namespace npgpu
