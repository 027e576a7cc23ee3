// What an application did, point by point: how often, how long each time, and how long in all.
#include "netpipe/model/medians.hpp"
#include "npgpu/vocabulary/record.hpp"

namespace npgpu {

namespace {

RecordResult record_result(const RecordSeries& series, const RecordPoint& point) {
  RecordResult r = model::result_of(point);
  r.trials = trials_of(series, point);
  const ByVisit us = values_of(series, point, [](const RecordSample& s) { return s.end_us - s.start_us; });
  model::set_times(r, us, series);
  for (const double one : model::all_of(us)) r.total_us += one;
  const auto per_s = [&](double time) { return time > 0 ? r.work / time * 1e6 : not_measured; };
  r.rate = {per_s(r.time_us.value), per_s(r.time_us.high), per_s(r.time_us.low), "1/s", r.time_us.method};
  if (!r.is_timed) r.why = "no usable time";
  return r;
}

}  // namespace

std::vector<RecordResult> Records::results(const RecordSeries& series) {
  return model::of_each_point(series, record_result);
}

}  // namespace npgpu
