// What runs of the partition method came to, point by point.
#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"

namespace npgpu {

namespace {

PartitionResult summarized(const PartitionSeries& series, const PartitionPoint& point) {
  PartitionResult r = model::checked_result_of(series, point, "results were wrong");
  if (r.is_wrong) return r;
  const auto column_of = [&](double PartitionSample::*column) {
    return values_of(series, point,
                     [column](const PartitionSample& one) { return one.*column >= 0 ? one.*column : not_measured; });
  };
  const auto median_of = [&](double PartitionSample::*column) {
    return model::time_over_visits(column_of(column), series.drift);
  };
  const ByVisit whole_us = column_of(&PartitionSample::host_us);
  model::set_times(r, whole_us, series);
  r.us_by_round = model::by_round(point, whole_us);
  r.stage2_us = median_of(&PartitionSample::stage2_us);
  r.rest_us = model::time_over_visits(values_of(series, point,
                                                [](const PartitionSample& one) {
                                                  const double rest = one.host_us - one.stage2_us;
                                                  return one.stage2_us >= 0 && rest >= 0 ? rest : not_measured;
                                                }),
                                      series.drift);
  for (std::size_t i = 0; i < partition_stages.size(); ++i) r.stages_us[i] = median_of(partition_stages[i].at);
  for (const auto* visit : point.visits)
    for (const PartitionSample& one : samples_of(series, *visit)) r.residual = std::fmax(r.residual, one.residual);
  if (!r.is_timed) r.why = "no usable trial";
  return r;
}

}  // namespace

std::vector<PartitionResult> Partitions::results(const PartitionSeries& series) {
  return model::of_each_point(series, summarized);
}

}  // namespace npgpu
