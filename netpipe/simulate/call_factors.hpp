// Calls that take more or less time from run to run: see StreamCosts::call_factors.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu::model {

template <class Run> struct MiddleRun {
  double factor = 1;
  Run run;
};

// Plays run_with(factor) for each of the factors, or for 1 where there are none. Returns the run whose total is in the
// middle, with its factor.
template <class RunWith> auto middle_run(const std::vector<double>& factors, const RunWith& run_with) {
  std::vector<MiddleRun<decltype(run_with(1.0))>> all;
  for (const double factor : factors) all.push_back({factor, run_with(factor)});
  if (all.empty()) all.push_back({1, run_with(1)});
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle, {}, [](const auto& one) { return std::pair(one.run.total, one.factor); });
  return std::move(*middle);
}

}  // namespace npgpu::model
