// Visits written down by hand, for series of any kind.
#pragma once

#include <algorithm>
#include <string_view>

#include "npgpu/vocabulary/series.hpp"

namespace npgpu {

// The next visit to a point: its samples are those that the series gets next.
template <class K> Visit<K> next_visit(const Series<K>& series, const typename K::Axes& axes, std::size_t samples) {
  Visit<K> visit;
  visit.axes = axes;
  visit.round = static_cast<std::uint32_t>(std::ranges::count(series.visits, axes, &Visit<K>::axes));
  visit.first_sample = series.samples.size();
  visit.samples = static_cast<std::uint32_t>(samples);
  return visit;
}

inline void disturb(VisitInfo& visit, Cause cause, std::string_view by = {}) {
  visit.disturbed |= static_cast<std::uint32_t>(cause);
  visit.disturber = by;
}

}  // namespace npgpu
