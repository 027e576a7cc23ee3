// Calls that take more or less time from run to run: see StreamCosts::call_factors.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu::model {

// Of the factors the one with which the total is in the middle; 1 where there are none.
template <class TotalWith> double middle_factor(const std::vector<double>& factors, const TotalWith& total_with) {
  if (factors.empty()) return 1;
  std::vector<std::pair<Seconds, double>> totals;
  for (const double factor : factors) totals.emplace_back(total_with(factor), factor);
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  std::ranges::nth_element(totals, middle);
  return middle->second;
}

}  // namespace npgpu::model
