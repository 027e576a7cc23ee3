// Normally distributed numbers.
#pragma once

#include <cmath>
#include <numbers>

namespace npgpu {

// One number of mean 0 and deviation 1, from two of `uniform()`, which gives numbers in (0, 1] (Box & Muller 1958; the
// second number of their pair is dropped).
template <class Uniform> double normal(Uniform&& uniform) {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace npgpu
