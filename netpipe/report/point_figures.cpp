#include "netpipe/report/point_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "netpipe/report/csv_rows.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

const std::string& device_word(const TransferCase& c) { return c.source == "host" ? c.target : c.source; }
std::string device_word(const CollectiveCase& c) { return device_of(c); }
template <class Case> const std::string& device_word(const Case& c) { return c.device; }

template <class K> void add_named(std::vector<NamedFigure>& all, const std::vector<Series<K>>& of_kind) {
  std::map<std::string, int> seen;
  for (const Series<K>& series : of_kind) {
    NamedFigure front{
        .kind = std::string(K::name), .title = title(series.question), .device = device_word(series.question)};
    // "jobs cuda:0 ..." says its kind already.
    if (front.title.starts_with(front.kind + ' ')) front.title.erase(0, front.kind.size() + 1);
    if (const int before = seen[front.title]++) front.title += fmt::format(" ({})", before + 1);
    const auto all_points = results(series);
    const bool lanes = std::ranges::any_of(all_points, [](const Result<K>& r) { return r.lane > 0; });
    for (const Result<K>& r : all_points) {
      NamedFigure& one = all.emplace_back(front);
      visit_fields(r.axes, [&](const FieldInfo& field, const auto& value) {
        one.axes += fmt::format("{}{}:{}", one.axes.empty() ? "" : "/", field.name, csv::cell(value));
      });
      if (lanes) one.axes += fmt::format("/lane:{}", r.lane);
      one.figure = figure_of(series.question, r);
      one.time_us = r.time_us;
      one.trials = r.trials;
      one.why_unusable = r.why;
    }
  }
}

}  // namespace

Estimate figure_of(const TransferCase& c, const TransferResult& r) {
  return {r.rate.value, r.rate.low, r.rate.high, work_unit(c) + "/s", r.time_us.method};
}
Estimate figure_of(const ProbeCase& c, const ProbeResult& r) {
  if (counted_of(c).each_waits()) return {1e9 / r.rate.value, 1e9 / r.rate.high, 1e9 / r.rate.low, "ns", r.rate.method};
  return {r.rate.value, r.rate.low, r.rate.high, work_unit(c) + "/s", r.rate.method};
}

Estimate figure_of(const EnergyCase& c, const EnergyResult& r) {
  if (is_idle(c.work)) return r.power_w;
  const double pj = 1e12 / r.rate.value;  // the scatter is that of the power
  return {r.power_w.value * pj, r.power_w.low * pj, r.power_w.high * pj, "pJ", r.power_w.method};
}

Estimate figure_of(const SoakCase& c, const SoakResult& r) {
  return {r.rate.value, r.rate.low, r.rate.high,
          counts_operations(c.load) || c.load == SoakLoad::together ? "FLOP/s" : "B/s", r.rate.method};
}

Estimate figure_of(const CollectiveCase&, const CollectiveResult& r) {
  return {r.bus_rate.value, r.bus_rate.low, r.bus_rate.high, "B/s", r.time_us.method};
}

std::string_view counted_in(const TransferCase&, const TransferResult&) { return "payload bytes"; }
std::string_view counted_in(const ProbeCase& c, const ProbeResult&) { return counted_of(c).words; }
std::string_view counted_in(const JobCase& c, const JobResult&) {
  return c.gating == Gating::gated ? "device time of a job" : "time of a job";
}
std::string_view counted_in(const CallCase&, const CallResult& r) {
  return std::isfinite(r.done_us.value) ? "time of a call until its work is done" : "time of a call until it returns";
}
std::string_view counted_in(const EnergyCase& c, const EnergyResult&) {
  if (is_idle(c.work)) return "power of the whole device";
  return counts_operations(c.work) ? "energy of an operation, idle included" : "energy of a byte, idle included";
}
std::string_view counted_in(const SoakCase& c, const SoakResult&) {
  if (c.load == SoakLoad::together) return "operations of tensor cores, with other loads";
  return counts_operations(c.load) ? "operations" : "bytes";
}
std::string_view counted_in(const PieceCase&, const PieceResult&) { return "time of a copy of all pieces"; }
std::string_view counted_in(const CollectiveCase&, const CollectiveResult&) { return "bytes of the bus bandwidth"; }
std::string_view counted_in(const PartitionCase&, const PartitionResult&) { return "time of a solution"; }

std::vector<NamedFigure> named_figures(const Trace& trace) {
  std::vector<NamedFigure> all;
  for_each_kind([&]<class K>() { add_named<K>(all, trace.of<K>()); });
  return all;
}

}  // namespace npgpu
