// How far the numbers of a trace can be trusted.
#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/model/compare/curves.hpp"
#include "netpipe/model/overview/parts.hpp"

namespace npgpu {

TelemetryRange range_of(const std::vector<TelemetryPoint>& points) {
  TelemetryRange range;
  for (const TelemetryPoint& p : points) {
    ++range.visits;
    range.max_sm_clock_mhz = std::fmax(range.max_sm_clock_mhz, p.sm_clock_mhz);
    range.min_sm_clock_mhz = std::fmin(range.min_sm_clock_mhz, p.sm_clock_mhz);
    range.max_power_w = std::fmax(range.max_power_w, p.power_w);
    range.max_temperature_c = std::fmax(range.max_temperature_c, p.temperature_c);
    range.slowed += p.slowing != 0;
  }
  return range;
}

void PointCounts::operator+=(const PointCounts& more) {
  points += more.points;
  unsteady += more.unsteady;
  disturbed += more.disturbed;
  unusable += more.unusable;
}

namespace model {

Quality quality_of(const Trace& trace) {
  Quality quality;
  std::array<PointCounts, names_of<TimeClass>.size()> classes;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) {
      const PointCounts counts = counts_of(series);
      classes[static_cast<std::size_t>(class_of(series.question))] += counts;
      quality.all += counts;
      if (!series.error.empty()) quality.errors.emplace_back(title(series.question), series.error);
      for (const auto& sample : series.samples) {
        quality.compared += sample.intact >= 0;
        quality.wrong += sample.intact == 0;
      }
    }
  });
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].points) quality.classes.emplace_back(static_cast<TimeClass>(i), classes[i]);
  quality.drift = drifts_of(trace);
  quality.siblings = busy_sibling(trace);
  quality.beside = beside_others(trace);
  return quality;
}

}  // namespace model

}  // namespace npgpu
