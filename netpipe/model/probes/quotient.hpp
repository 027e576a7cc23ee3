// Products and quotients of estimates. The bounds are those that follow if every factor lies at its own bound at once:
// wider than a 95 % interval, never narrower.
#pragma once

#include <initializer_list>
#include <string>

#include "npgpu/model.hpp"

namespace npgpu::model {

// All of `over` multiplied, divided by all of `under`. NaN where one of them is.
inline Estimate quotient(std::initializer_list<Estimate> over, std::initializer_list<Estimate> under, std::string unit,
                         std::string method) {
  Estimate e{1, 1, 1, std::move(unit), std::move(method)};
  for (const Estimate& factor : over) {
    e.value *= factor.value;
    e.low *= factor.low;
    e.high *= factor.high;
  }
  for (const Estimate& factor : under) {
    e.value /= factor.value;
    e.low /= factor.high;
    e.high /= factor.low;
  }
  return e;
}

// A number that is known.
inline Estimate exactly(double value) { return {value, value, value, {}, {}}; }

}  // namespace npgpu::model
