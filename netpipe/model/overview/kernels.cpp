// What probes say of a device: rates of memory and of computing, and the levels of its memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/overview/parts.hpp"
#include "netpipe/model/probes/corner_points.hpp"
#include "npgpu/catalogue.hpp"

namespace npgpu::model {

namespace {

// The fastest shape on the whole device: what report calls All-All.
Figure fastest(const ProbeSeries& series, std::string_view called) {
  Figure figure;
  figure.name = called;
  figure.value = corners_of(series).all_all;
  figure.unsteady = series.is_unsteady(figure.value);
  const auto rates = rates_of(series);
  const ProbeResult* const best = corner_point(rates, Corner::all_all, Per::second, series.layout.units);
  if (!best) {
    figure.note = series.error.empty() ? figure.value.method : series.error;
    return figure;
  }
  if (series.limit.per_s > 0) {
    figure.percent_of_peak = 100 * figure.value.value / series.limit.per_s;
    figure.clock_mhz = best->clock_mhz;
    if (counts_operations(series.question) && best->clock_mhz > 0 && series.layout.clock_mhz > 0)
      figure.percent_at_clock = figure.percent_of_peak * series.layout.clock_mhz / best->clock_mhz;
  }
  figure.disturbed = best->disturbed;
  if (!best->doubts.empty()) figure.note = best->doubts.front();
  return figure;
}

}  // namespace

std::vector<Figure> bandwidth_figures(const Trace& trace, const OfDevice& device) {
  // What reads and writes in place adds nothing to copies and triads.
  std::vector<Figure> figures;
  for (const Operation operation :
       {Operation::read, Operation::write, Operation::copy, Operation::triad, Operation::rmw})
    for (const ProbeSeries& series : trace.of<Probes>()) {
      const ProbeCase& c = series.question;
      const bool is_it =
          asks(c, ProbeQuestion::memory_bandwidth) && c.operation == operation && c.form == Form::streaming;
      if (!is_it || !device.has(series) || (operation == Operation::rmw && figures.size() > 1)) continue;
      figures.push_back(fastest(series, name(operation)));
      break;
    }
  return figures;
}

std::vector<Figure> compute_figures(const Trace& trace, const OfDevice& device) {
  std::vector<Figure> figures;
  for (const ProbeSeries& series : trace.of<Probes>()) {
    const ProbeCase& c = series.question;
    const bool again = std::ranges::find(figures, name(c.type), &Figure::name) != figures.end();
    if (question_of(c) != ProbeQuestion::computing_power || !device.has(series) || again) continue;
    figures.push_back(fastest(series, name(c.type)));
    figures.back().value.unit = is_whole_number(c.type) ? "OP/s" : "FLOP/s";
  }
  return figures;
}

// Of each type the faster instruction.
std::vector<Figure> tensor_figures(const Trace& trace, const OfDevice& device) {
  std::vector<Figure> figures;
  for (const ProbeSeries& series : trace.of<Probes>()) {
    const ProbeCase& c = series.question;
    if (!asks(c, ProbeQuestion::tensor_power) || !device.has(series)) continue;
    Figure figure = fastest(series, name(c.type));
    figure.value.unit = is_whole_number(c.type) ? "OP/s" : "FLOP/s";
    const auto before = std::ranges::find(figures, name(c.type), &Figure::name);
    if (before == figures.end()) figures.push_back(std::move(figure));
    else if (!(figure.value.value <= before->value.value)) *before = std::move(figure);
  }
  return figures;
}

std::vector<MemoryLevel> memory_levels(const DeviceParameters& derived) {
  std::vector<MemoryLevel> levels;
  constexpr std::array kinds{std::pair{std::string_view(" latency"), &MemoryLevel::latency},
                             std::pair{std::string_view(" size"), &MemoryLevel::size}};
  for (const Parameter& p : derived.parameters)
    for (const auto& [ending, member] : kinds) {
      if (!p.name.ends_with(ending) || p.name.starts_with("rmw ")) continue;  // a bandwidth probe's
      if (p.estimate.unit != (member == &MemoryLevel::latency ? "ns" : "bytes")) continue;
      const std::string called = p.name.substr(0, p.name.size() - ending.size());
      auto level = std::ranges::find(levels, called, &MemoryLevel::name);
      if (level == levels.end()) level = levels.insert(levels.end(), MemoryLevel{called});
      (*level).*member = p;
    }
  return levels;
}

std::vector<TelemetryPoint> telemetry_of(const Trace& trace, const OfDevice& device) {
  std::vector<TelemetryPoint> all;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) {
      if (!device.has(series)) continue;
      for (const Visit<K>& visit : series.visits) {
        const Telemetry& t = visit.telemetry;
        if (!std::isfinite(t.sm_clock_mhz) && !std::isfinite(t.power_w) && !std::isfinite(t.temperature_c)) continue;
        all.push_back({visit.at_s + visit.wall_us * 1e-6, t.sm_clock_mhz, t.power_w, t.temperature_c,
                       t.throttle_reasons & slowing_reasons});
      }
    }
  });
  // A trace that was resumed has a clock for each of its runs: their order is not known.
  if (std::ranges::all_of(all, [](const TelemetryPoint& p) { return std::isfinite(p.at_s); }))
    sort_stably(all, {}, &TelemetryPoint::at_s);
  return all;
}

}  // namespace npgpu::model
