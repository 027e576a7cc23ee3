#include "netpipe/model/calls/calls.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/model/medians.hpp"
#include "npgpu/compare.hpp"

namespace npgpu::model {

namespace {

Estimate median_of(const CallSeries& series, const CallPoint& point, double CallSample::*column) {
  Estimate e =
      time_over_visits(values_of(series, point,
                                 [column](const CallSample& s) {
                                   return s.repeats > 0 ? s.*column / static_cast<double>(s.repeats) : not_measured;
                                 }),
                       series.drift);
  if (std::isnan(e.value)) e.method = "not measured";
  return e;
}

}  // namespace

CallSummary summarize(const CallSeries& series, const CallPoint& point) {
  CallSummary s{point.axes, trials_of(series, point), point.stop(), disturbance_of(point), false, {}, {}};
  s.wrong = any_sample(series, point, [](const CallSample& one) { return one.intact == 0; });
  if (s.wrong) return s;
  s.host_us = median_of(series, point, &CallSample::host_us);
  s.done_us = median_of(series, point, &CallSample::done_us);
  return s;
}

std::vector<CallSummary> summarize(const CallSeries& series) {
  std::vector<CallSummary> all;
  for (const CallPoint& point : points_of(series)) all.push_back(summarize(series, point));
  std::stable_sort(all.begin(), all.end(),
                   [](const CallSummary& a, const CallSummary& b) { return a.shape < b.shape; });
  return all;
}

std::vector<GraphRow> graph_rows(const std::vector<CallSeries>& all_series, const std::string& device) {
  std::map<std::pair<GraphForm, std::uint32_t>, GraphRow> rows;
  for (const CallSeries& series : all_series) {
    const CallCase& c = series.question;
    if (c.device != device || c.form == GraphForm::none || c.manner != Manner::alone || is_beside(c)) continue;
    for (const CallSummary& s : summarize(series)) {
      GraphRow& row = rows[{c.form, s.shape.nodes}];
      row.form = c.form;
      row.nodes = s.shape.nodes;
      switch (c.call) {
        case Call::launches:
          row.launches_us = s.done_us;
          row.launches_host_us = s.host_us;
          break;
        case Call::graph_launch:
          row.graph_us = s.done_us;
          row.graph_host_us = s.host_us;
          break;
        case Call::graph_instantiate: row.instantiate_us = s.host_us; break;
        case Call::graph_update: row.update_us = s.host_us; break;
        default: break;
      }
    }
  }
  std::vector<GraphRow> all;
  for (auto& [key, row] : rows) {
    if (row.graph_us.high < row.launches_us.low)
      row.pays_after = std::ceil(row.instantiate_us.value / (row.launches_us.value - row.graph_us.value));
    all.push_back(std::move(row));
  }
  return all;
}

std::optional<std::uint32_t> pays_from(const std::vector<GraphRow>& rows, GraphForm form) {
  std::optional<std::uint32_t> from;
  for (const GraphRow& row : rows) {
    if (row.form != form) continue;
    if (!row.pays_after) from.reset();
    else if (!from) from = row.nodes;
  }
  return from;
}

}  // namespace npgpu::model

namespace npgpu {

template <> std::vector<PointTime<Calls>> estimates(const CallSeries& series) {
  std::vector<PointTime<Calls>> times;
  for (const CallPoint& point : points_of(series)) {
    const model::CallSummary s = model::summarize(series, point);
    PointTime<Calls> time{.axes = point.axes, .work = point.work(), .time_us = s.main_us()};
    for (const auto* visit : point.counted())
      for (const double us : trial_times<Calls>(series.question, samples_of(series, *visit))) {
        if (!(us >= time.min_us)) time.min_us = us;
        if (!(us <= time.max_us)) time.max_us = us;
      }
    time.is_timed = std::isfinite(time.time_us.value);
    if (s.wrong) time.why = "the call's work was wrong";
    else if (std::isnan(time.time_us.value)) time.why = "no usable trial";
    times.push_back(std::move(time));
  }
  return times;
}

}  // namespace npgpu
