// The median of trial times, in us, with what the trials allow to say of it.
#pragma once

#include <vector>

#include "npgpu/statistics.hpp"

namespace npgpu::model {

inline Estimate median_us(const std::vector<double>& us) {
  Estimate e;
  e.unit = "us";
  if (us.empty()) {
    e.method = "no usable trial";
    return e;
  }
  e.value = median(us);
  if (const auto interval = median_interval(us)) {
    e.low = interval->low;
    e.high = interval->high;
    e.method = "median, 95 % interval from order statistics";
  } else {
    e.method = "median; too few trials for an interval";
  }
  return e;
}

}  // namespace npgpu::model
