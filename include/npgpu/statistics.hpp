// Medians and their intervals.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "npgpu/units.hpp"

namespace npgpu {

struct Interval {
  double low = 0;
  double high = 0;
};

// Of a non-empty set, in any order. Even number of values: the mean of the two in the middle.
double median(std::span<const double> values);

// Nonparametric interval of the median from order statistics (binomial; Hoefler & Belli, SC15,
// rule 5). Nothing where there are too few values for the level: 6 are needed for 0.95.
std::optional<Interval> median_interval(std::span<const double> values, double level = 0.95);

// A value with its 95 % interval. low = high = NaN where the data do not give one.
struct Estimate {
  double value = not_measured;
  double low = not_measured;
  double high = not_measured;
  std::string unit;
  std::string method;
};

}  // namespace npgpu
