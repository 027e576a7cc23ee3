#include "netpipe/report/point_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/report/csv_rows.hpp"

namespace npgpu {

namespace {

PointFigure rate_figure(const Estimate& e, const char* counts) { return {e.value, e.low, e.high, e.unit, counts}; }

const std::string& device_word(const TransferCase& c) { return c.source == "host" ? c.target : c.source; }
template <class Case> const std::string& device_word(const Case& c) { return c.device; }

template <class K> void add_named(std::vector<NamedFigure>& all, const std::vector<Series<K>>& of_kind) {
  std::map<std::string, int> seen;
  for (const Series<K>& series : of_kind) {
    NamedFigure front{
        .kind = std::string(K::name), .title = title(series.question), .device = device_word(series.question)};
    // "jobs cuda:0 ..." says its kind already.
    if (front.title.starts_with(front.kind + ' ')) front.title.erase(0, front.kind.size() + 1);
    if (const int before = seen[front.title]++) front.title += fmt::format(" ({})", before + 1);
    const auto results = results_of(series);
    const bool lanes = std::ranges::any_of(results, [](const PointResult<K>& r) { return r.lane > 0; });
    for (const PointResult<K>& r : results) {
      NamedFigure& one = all.emplace_back(front);
      visit_fields(r.axes, [&](const FieldInfo& field, const auto& value) {
        one.axes += fmt::format("{}{}:{}", one.axes.empty() ? "" : "/", field.name, csv::cell(value));
      });
      if (lanes) one.axes += fmt::format("/lane:{}", r.lane);
      one.figure = point_figure(series, r);
      one.time_us = r.time_us;
      one.trials = r.trials;
      one.why_unusable = r.why;
    }
  }
}

}  // namespace

PointFigure point_figure(const TransferSeries&, const PointResult<Transfers>& r) {
  return rate_figure(r.rate, "payload bytes");
}
PointFigure point_figure(const ProbeSeries& series, const PointResult<Probes>& r) {
  const ProbeCase& c = series.question;
  if (counts_loads(c)) return {1e9 / r.rate.value, 1e9 / r.rate.high, 1e9 / r.rate.low, "ns", "time of a load"};
  if (counts_atomics(c)) return rate_figure(r.rate, "atomic additions");
  if (is_pattern(c) && c.operation == Operation::read) return rate_figure(r.rate, "bytes that threads ask for");
  if (c.operation != Operation::fma && c.operation != Operation::branch)
    return rate_figure(r.rate, "bytes read and written");
  return rate_figure(r.rate, "operations (a multiply-add is two)");
}
PointFigure point_figure(const JobSeries& series, const PointResult<Jobs>& r) {
  const bool device = series.question.gating == Gating::gated;
  return {r.time_us.value, r.time_us.low, r.time_us.high, "us", device ? "device time of a job" : "time of a job"};
}
PointFigure point_figure(const CallSeries& series, const PointResult<Calls>& r) {
  const bool leaves_work = any_sample(series, r.point, [](const CallSample& s) { return std::isfinite(s.done_us); });
  return {r.time_us.value, r.time_us.low, r.time_us.high, "us",
          leaves_work ? "time of a call until its work is done" : "time of a call until it returns"};
}
PointFigure point_figure(const PartitionSeries&, const PointResult<Partitions>& r) {
  return {r.time_us.value, r.time_us.low, r.time_us.high, "us", "time of a solution"};
}

std::vector<NamedFigure> named_figures(const Trace& trace) {
  std::vector<NamedFigure> all;
  for_each_kind([&]<class K>() { add_named<K>(all, trace.of<K>()); });
  return all;
}

}  // namespace npgpu
