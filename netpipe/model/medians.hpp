// Medians of trials and of estimates, with what these allow to say of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "npgpu/statistics.hpp"

namespace npgpu::model {

// Value and bounds, of values that are there; false, and no bounds, where there are too few for an interval.
inline bool set_median(Estimate& e, std::span<const double> values) {
  e.value = median(values);
  const auto interval = median_interval(values);
  if (interval) {
    e.low = interval->low;
    e.high = interval->high;
  }
  return interval.has_value();
}

// Of trial times, in us.
inline Estimate median_us(const std::vector<double>& us) {
  Estimate e{.unit = "us", .method = "no usable trial"};
  if (!us.empty())
    e.method =
        set_median(e, us) ? "median, 95 % interval from order statistics" : "median; too few trials for an interval";
  return e;
}

// The median of trial times, and the shortest and the longest, if there are any.
template <class Summary> void set_times(Summary& s, const std::vector<double>& us) {
  s.time_us = median_us(us);
  if (us.empty()) return;
  s.min_us = *std::min_element(us.begin(), us.end());
  s.max_us = *std::max_element(us.begin(), us.end());
}

// Between which 95 % of drawn values lie.
template <class T> std::pair<T, T> middle_95(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 40;
  return {values[cut], values[values.size() - 1 - cut]};
}

// Medians of the values and of both bounds, each where all of them are known.
inline Estimate middle_of(const std::vector<Estimate>& all) {
  Estimate e;
  for (double Estimate::*number : {&Estimate::value, &Estimate::low, &Estimate::high}) {
    std::vector<double> numbers;
    for (const Estimate& one : all)
      if (!std::isnan(one.*number)) numbers.push_back(one.*number);
    if (!all.empty() && numbers.size() == all.size()) e.*number = median(numbers);
  }
  return e;
}

}  // namespace npgpu::model
