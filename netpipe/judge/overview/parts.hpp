// The parts of an overview of one device.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "npgpu/judge/overview.hpp"
#include "npgpu/model/compare.hpp"

namespace npgpu::model {

// The series of one device. Two GPUs may have been called cuda:0 in turn; their UUIDs distinguish them.
struct OfDevice {
  std::string id{}, uuid{};

  template <class K> bool has(const Series<K>& series) const {
    return device_of(series.question) == id && series.device_uuid == uuid;
  }
};

template <class K> PointCounts counts_of(const Series<K>& series) {
  PointCounts counts;
  for (const Point<K>& point : points_of(series)) {
    ++counts.points;
    counts.disturbed += (point.disturbed() & ~own_causes) != 0;
  }
  std::set<typename K::Axes> unusable, unsteady;  // lanes of a point are counted once
  for (const Result<K>& time : results(series)) {
    if (!time.usable() || !(time.time_us.value > 0)) unusable.insert(time.axes);
    else if (time.unsteady) unsteady.insert(time.axes);
  }
  counts.unsteady = unsteady.size();
  counts.unusable = unusable.size();
  return counts;
}

// With all that tells two cases apart, but for their lanes: "cuda:0 to cuda:1, async, by a kernel, read, chase".
std::string full_copy_name(const TransferCase&);
// The most important first: both directions, both at once, blocking, pageable, within the device; then the variants.
std::vector<CopyCurve> copy_curves(const Trace&, const OfDevice&);
// Bandwidth and computing power of its probes: the corner All-All, as report has it.
std::vector<Figure> bandwidth_figures(const Trace&, const OfDevice&);
std::vector<Figure> compute_figures(const Trace&, const OfDevice&);
std::vector<Figure> tensor_figures(const Trace&, const OfDevice&);
// The levels that derived parameters speak of.
std::vector<MemoryLevel> memory_levels(const DeviceParameters&);
std::vector<Figure> energy_costs(const Trace&, const OfDevice&);
std::vector<Figure> call_figures(const Trace&, const OfDevice&);
void add_streams(DeviceOverview&, const Trace&, const std::vector<MeasuredCosts>&);
// A point for each of its visits; without times where these were not recorded.
std::vector<TelemetryPoint> telemetry_of(const Trace&, const OfDevice&);

}  // namespace npgpu::model
