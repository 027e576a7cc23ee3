// The one rule by which a figure is held against a limit: its interval decides, never its value alone.
#pragma once

#include <cmath>
#include <limits>

#include "npgpu/statistics.hpp"

namespace npgpu::model {

enum class Bound { at_least, at_most };

enum class Ruling {
  ok,         // the whole interval is within the limit
  slow,       // the whole interval is beyond it
  undecided,  // the interval holds the limit, or there is none and the value is beyond the limit
  no_limit,   // there is nothing to hold it against
  no_figure,  // no rate or time can be so: NaN, infinite, zero or negative
};

constexpr bool is_figure(double value) { return value > 0 && value < std::numeric_limits<double>::infinity(); }

inline Ruling rule(const Estimate& figure, Bound bound, double limit) {
  if (!is_figure(figure.value)) return Ruling::no_figure;
  if (!is_figure(limit)) return Ruling::no_limit;
  const bool has_interval = !std::isnan(figure.low) && !std::isnan(figure.high);
  const double low = has_interval ? figure.low : figure.value, high = has_interval ? figure.high : figure.value;
  const bool is_within = bound == Bound::at_least ? low >= limit : high <= limit;
  const bool is_beyond = bound == Bound::at_least ? high < limit : low > limit;
  if (is_within) return Ruling::ok;
  return is_beyond && has_interval ? Ruling::slow : Ruling::undecided;
}

// A rate above 105 % of what a link, memory or clock could do at most: then that limit is not true.
inline constexpr double most_share_of_a_true_limit = 1.05;

}  // namespace npgpu::model
