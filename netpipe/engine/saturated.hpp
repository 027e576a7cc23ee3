// A whole number out of a figure that may be anything: traces, specs and references come from outside.
#pragma once

#include <limits>

namespace npgpu {

// Towards zero, as a cast, where that is defined; the nearest there is for what is beyond, and 0 for NaN.
template <class Integer> constexpr Integer saturated(double value) {
  using Limits = std::numeric_limits<Integer>;
  // The largest integers are not doubles; what they round to is one more.
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  return value == value ? static_cast<Integer>(value) : Integer{0};
}

}  // namespace npgpu
