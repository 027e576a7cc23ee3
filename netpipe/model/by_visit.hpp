// A figure of a point, visit by visit.
#pragma once

#include <vector>

#include "npgpu/model.hpp"
#include "npgpu/series.hpp"

namespace npgpu::model {

// A figure that is proportional to a point's time, or to one over it (`is_rate`), of each visit that counts. Their
// median is `figure`.
template <class K>
std::vector<double> by_visit(const Series<K>& series, const Point<K>& point, double figure, bool is_rate) {
  std::vector<double> each;
  for (const Visit<K>* visit : point.counted())
    if (const auto times = trial_times<K>(series.question, samples_of(series, *visit)); !times.empty())
      each.push_back(npgpu::median(times));
  const double all = each.empty() ? not_measured : npgpu::median(each);
  for (double& us : each) us = figure * (is_rate ? all / us : us / all);
  return each;
}

}  // namespace npgpu::model
