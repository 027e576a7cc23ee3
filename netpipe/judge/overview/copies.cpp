// What copies and probes say of a device: which copies stand for it, rates of memory and of computing, the levels of
// its memory; its telemetry and energies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/overview/parts.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

const TransferResult* CopyCurve::at(std::uint64_t bytes) const {
  const auto found = std::ranges::find(points, TransferSize{bytes}, &TransferResult::axes);
  return found == points.end() ? nullptr : &*found;
}
const TransferResult* CopyCurve::largest() const { return points.empty() ? nullptr : &points.back(); }

namespace model {

namespace {

// What a program chooses first. The first case of a rank is usual; the rest of it, and all that have none, are
// variants.
constexpr std::array usual_copies{
    CopyQuestion::to_device,
    CopyQuestion::to_host,
    CopyQuestion::both_ways,
    CopyQuestion::to_device_blocking,
    CopyQuestion::to_host_blocking,
    CopyQuestion::to_device_pageable,
    CopyQuestion::to_host_pageable,
    // Within the device: what caches do not hold, or else what they do.
    CopyQuestion::within_device_cold,
    CopyQuestion::within_device,
    CopyQuestion::to_peer,
    CopyQuestion::within_host,
    CopyQuestion::within_host_cold,
    CopyQuestion::within_host_both_ways,
};

// By the host's clock where that is all there is.
CopyQuestion by_any_clock(CopyQuestion question) {
  if (question == CopyQuestion::to_device_queued) return CopyQuestion::to_device;
  return question == CopyQuestion::to_host_queued ? CopyQuestion::to_host : question;
}

std::size_t rank_of(const TransferCase& c) {
  const auto question = question_of(c);
  if (!question || !c.bind) return usual_copies.size();
  return static_cast<std::size_t>(std::ranges::find(usual_copies, by_any_clock(*question)) - usual_copies.begin());
}

std::string upper(std::string_view word) {
  std::string text;
  for (const char c : word) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "H2D pinned, async", "both ways pinned, async", "D2D, async, cold", "memcpy cold", "host@0 to host@1, staged".
std::string copy_name(const TransferCase& c) {
  const bool host = c.direction == Direction::h2h;
  std::string what = upper(name(c.direction));
  if (host) what = c.module;
  if (c.direction == Direction::peer) what = c.source + " to " + c.target;
  const bool both = c.pattern == Pattern::duplex;
  if (both) what = c.direction == reversed(c.direction) ? what + " both ways" : "both ways";
  if (c.memory != Memory::device && !(host && c.memory == Memory::pageable)) what += ' ' + std::string(name(c.memory));
  std::vector<std::string> parts{what};
  if (!host) parts.emplace_back(c.async ? "async" : "blocking");
  if (c.pattern == Pattern::pingpong) parts.emplace_back("pingpong");
  if (c.async && c.timing == Timing::host) parts.emplace_back("host's clock");
  if (!c.async && !host && c.timing != Timing::host) parts.emplace_back(name(c.timing));
  if (c.cache == Cache::cold) parts.emplace_back("cold");
  if (c.source_offset || c.target_offset)
    parts.push_back(fmt::format("offsets {} and {}", c.source_offset, c.target_offset));
  if (!c.bind) parts.emplace_back("unbound");
  if (c.host_node >= 0) parts.push_back(fmt::format("NUMA node {}", c.host_node));
  if (is_beside(c)) parts.push_back("with a second process: " + c.beside);
  if (c.executor == Executor::sm_kernel) parts.emplace_back("by a kernel");
  if (c.access == Access::staged)
    parts.push_back(c.chunk_bytes ? "staged by " + size_text(c.chunk_bytes) : std::string("staged"));
  if (!c.more_lanes.empty())
    parts.push_back(fmt::format("{} more lane{}", c.more_lanes.size(), c.more_lanes.size() > 1 ? "s" : ""));
  return fmt::format("{}", fmt::join(parts, host ? " " : ", "));
}

// Several devices copy at once.
bool is_of_several(const TransferCase& c) {
  const auto is_known = [&](const std::string& device) { return device == c.source || device == c.target; };
  const auto is_other = [&](const Lane& lane) { return !is_known(lane.source) || !is_known(lane.target); };
  return !c.more_lanes.empty() && (c.direction == Direction::peer || std::ranges::any_of(c.more_lanes, is_other));
}

CopyCurve copy_curve(const TransferSeries& series) {
  CopyCurve curve;
  curve.question = series.question;
  curve.name = copy_name(series.question);
  curve.limit = series.limit;
  curve.points = results_of_all_lanes(series);
  if (curve.points.empty()) curve.points = results(series);
  curve.half_bytes = fit_curve(curve.points).half_bytes;
  curve.counts = counts_of(series);
  curve.error = series.error;
  return curve;
}

void make_unique(std::vector<CopyCurve>& curves) {
  std::map<std::string, std::size_t> seen;
  for (const CopyCurve& curve : curves) ++seen[curve.name];
  std::map<std::string, std::size_t> again;
  for (CopyCurve& curve : curves) {
    if (seen[curve.name] == 1 || (curve.is_usual && again[curve.name] == 0)) {
      ++again[curve.name];
      continue;
    }
    const std::string with_module = curve.question.module + ": " + curve.name;
    const std::size_t number = again[with_module]++;
    curve.name = number ? fmt::format("{} ({})", with_module, number + 1) : with_module;
  }
}

}  // namespace

std::string full_copy_name(const TransferCase& c) {
  std::string text = copy_name(c);
  const auto add = [&](std::string_view word) { text += ", " + std::string(word); };
  if (c.async && c.timing == Timing::event) add("events");
  if (c.direction == Direction::peer && c.access != Access::staged) add(name(c.access));
  if (c.pattern != Pattern::stream && c.pattern != Pattern::duplex && c.pattern != Pattern::pingpong)
    add(name(c.pattern));
  return text;
}

std::vector<CopyCurve> copy_curves(const Trace& trace, const OfDevice& device) {
  std::vector<CopyCurve> curves;
  for (const TransferSeries& series : trace.of<Transfers>())
    // Loads, flags and what several devices copy at once are not a device's copies: the node's matrix has them.
    if (device.has(series) && !is_of_words(series.question.pattern) && !is_of_several(series.question))
      curves.push_back(copy_curve(series));
  // The device's own clock comes first where cases differ in that alone: launches are not in its times.
  sort_stably(curves, {}, [](const CopyCurve& curve) {
    return std::pair(rank_of(curve.question), curve.question.async && curve.question.timing == Timing::host);
  });
  const std::size_t none = usual_copies.size();
  std::size_t last = none;
  bool within = false;
  for (CopyCurve& curve : curves) {
    const std::size_t rank = rank_of(curve.question);
    const bool is_within = curve.question.direction == Direction::d2d;
    curve.is_usual = rank != none && rank != last && !(is_within && within);
    within |= curve.is_usual && is_within;
    last = rank;
  }
  std::ranges::stable_partition(curves, &CopyCurve::is_usual);
  make_unique(curves);
  return curves;
}

// ---- probes ----

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

// The faster instruction of each type.
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

std::vector<Figure> energy_costs(const Trace& trace, const OfDevice& device) {
  std::vector<Figure> all;
  for (const EnergyFigure& f : energy_figures(trace)) {
    if (f.question.device != device.id || f.device_uuid != device.uuid) continue;
    Figure figure{.name = work_text(f.question), .clock_mhz = f.full.clock_mhz};
    if (!f.why.empty()) {
      figure.note = f.why;
    } else if (is_idle(f.question.work)) {
      figure.value = f.full.power_w;
    } else {
      figure.value = f.each_pj();
    }
    figure.disturbed = f.full.disturbed;
    all.push_back(std::move(figure));
  }
  return all;
}

}  // namespace model

}  // namespace npgpu
