// What runs of the partition method came to, point by point.
#include <algorithm>
#include <cmath>

#include "netpipe/model/medians.hpp"
#include "npgpu/compare.hpp"
#include "npgpu/partition_model.hpp"

namespace npgpu {

namespace {

constexpr std::array<double PartitionSample::*, names_of<PartitionStage>.size()> stage_columns{
    &PartitionSample::stage1_in_us, &PartitionSample::stage1_kernel_us, &PartitionSample::stage1_out_us,
    &PartitionSample::stage3_in_us, &PartitionSample::stage3_kernel_us, &PartitionSample::stage3_out_us};

PartitionSummary summarized(const PartitionSeries& series, const PartitionPoint& point) {
  PartitionSummary s;
  s.shape = point.axes;
  s.trials = trials_of(series, point);
  // Wrong results void the whole point.
  if (any_sample(series, point, [](const PartitionSample& one) { return one.intact == 0; })) {
    s.why = s.time_us.method = "results were wrong";
    return s;
  }
  const auto column_of = [&](double PartitionSample::*column) {
    return values_of(series, point,
                     [column](const PartitionSample& one) { return one.*column >= 0 ? one.*column : not_measured; });
  };
  const auto median_of = [&](double PartitionSample::*column) {
    return model::time_over_visits(column_of(column), series.drift);
  };
  s.time_us = median_of(&PartitionSample::host_us);
  s.us_by_round = model::by_round(point, column_of(&PartitionSample::host_us));
  s.stage2_us = median_of(&PartitionSample::stage2_us);
  s.rest_us = model::time_over_visits(values_of(series, point,
                                                [](const PartitionSample& one) {
                                                  const double rest = one.host_us - one.stage2_us;
                                                  return one.stage2_us >= 0 && rest >= 0 ? rest : not_measured;
                                                }),
                                      series.drift);
  for (std::size_t i = 0; i < stage_columns.size(); ++i) s.stages_us[i] = median_of(stage_columns[i]);
  for (const auto* visit : point.visits)
    for (const PartitionSample& one : samples_of(series, *visit)) s.residual = std::fmax(s.residual, one.residual);
  if (std::isnan(s.time_us.value)) s.why = "no usable trial";
  return s;
}

}  // namespace

std::vector<PartitionSummary> summarize(const PartitionSeries& series) {
  std::vector<PartitionSummary> all;
  for (const PartitionPoint& point : points_of(series)) all.push_back(summarized(series, point));
  std::stable_sort(all.begin(), all.end(),
                   [](const PartitionSummary& a, const PartitionSummary& b) { return a.shape < b.shape; });
  return all;
}

template <> std::vector<PointTime<Partitions>> estimates(const PartitionSeries& series) {
  std::vector<PointTime<Partitions>> times;
  for (const PartitionPoint& point : points_of(series)) {
    const PartitionSummary s = summarized(series, point);
    PointTime<Partitions> time{.axes = point.axes,
                               .work = point.work(),
                               .time_us = s.time_us,
                               .why = s.why,
                               .is_timed = std::isfinite(s.time_us.value)};
    for (const auto* visit : point.counted())
      for (const double us : trial_times<Partitions>(series.question, samples_of(series, *visit))) {
        time.min_us = std::fmin(time.min_us, us);
        time.max_us = std::fmax(time.max_us, us);
      }
    times.push_back(std::move(time));
  }
  return times;
}

}  // namespace npgpu
