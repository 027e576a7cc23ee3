// The overview of a trace: its devices, what sets one GPU apart from the others of its model, how far the numbers can
// be trusted, and what was not measured.
#include "npgpu/judge/overview.hpp"

#include <fmt/format.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/compare/curves.hpp"
#include "netpipe/judge/health/record.hpp"
#include "netpipe/judge/overview/parts.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/run_facts.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::model {

namespace {

constexpr double apart_from_others = 0.03;  // from the median of the others

struct Number {
  std::string what;
  Estimate value;
  bool is_rate;  // more is better
};

// What a job meets: links, memory, computing power, launches. Latencies of caches and of single calls differ by chance,
// or by where on the chip a block runs.
std::vector<Number> numbers_of(const DeviceOverview& device) {
  std::vector<Number> all;
  for (const CopyCurve& curve : device.copies)
    if (const TransferResult* largest = curve.largest(); curve.is_usual && largest)
      all.push_back({curve.name + " at " + size_text(largest->axes.bytes), largest->rate, true});
  for (const Figure& f : device.bandwidth) all.push_back({"bandwidth, " + f.name, f.value, true});
  for (const Figure& f : device.compute) all.push_back({"compute, " + f.name, f.value, true});
  for (const Figure& f : device.tensor) all.push_back({"tensor, " + f.name, f.value, true});
  for (const MemoryLevel& level : device.levels)
    if (level.latency && level.name == "memory") all.push_back({"latency, memory", level.latency->estimate, false});
  for (const Figure& f : device.calls)
    for (const auto& [name, shown] :
         {std::pair{"launch", "a launch"}, {"in a row", "launches in a row"}, {"until done", "a launch until done"}})
      if (f.name == name) all.push_back({shown, f.value, false});
  return all;
}

// Farther than the tolerance, with all of the interval.
bool is_apart(const Estimate& value, double others, bool is_rate) {
  const double near = is_rate ? value.high : value.low;
  const double nearest = std::isfinite(near) ? near : value.value;
  return is_rate ? nearest < (1 - apart_from_others) * others : nearest > (1 + apart_from_others) * others;
}

std::vector<Difference> differences_of(const std::vector<DeviceOverview>& devices) {
  std::vector<Difference> found;
  for (const DeviceOverview& device : devices)
    for (const Number& own : numbers_of(device)) {
      std::vector<double> others;
      for (const DeviceOverview& other : devices) {
        if (&other == &device || other.name != device.name) continue;
        for (const Number& its : numbers_of(other))
          if (its.what == own.what && std::isfinite(its.value.value)) others.push_back(its.value.value);
      }
      if (others.empty() || !std::isfinite(own.value.value)) continue;
      const double middle = median(others);
      if (!is_apart(own.value, middle, own.is_rate)) continue;
      const double share = own.is_rate ? 1 - own.value.value / middle : own.value.value / middle - 1;
      found.push_back({device.id, own.what, own.value, middle, share});
    }
  sort_stably(found, std::ranges::greater{}, &Difference::worse_by);
  return found;
}

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

}  // namespace

}  // namespace npgpu::model

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

namespace {

using model::OfDevice;

// All GPUs of the trace, also those that only take part in what several do, and the host if it was measured.
std::vector<DeviceOverview> measured_devices_of(const Trace& trace) {
  std::vector<DeviceOverview> all;
  const auto add = [&](const auto& device) {
    DeviceOverview& one = all.emplace_back();
    one.id = device.id;
    one.uuid = device.uuid;
    one.name = device.name;
    one.simulated = device.simulated;
  };
  for (const CheckReport::Gpu& gpu : gpus_of(trace)) add(gpu);
  for (const model::DeviceRecord& record : model::records_of(trace))
    if (record.is_host()) add(record);
  return all;
}

Facts device_facts(const Provenance& provenance, const DeviceOverview& device) {
  for (const auto& of : provenance)
    if (model::describes(of, device.id, device.uuid)) return of.second;
  return {};
}

double seconds_of(const Trace& trace) {
  double end_s = 0, visits_s = 0;
  const bool resumed =
      std::ranges::any_of(trace.provenance, [](const auto& group) { return group.first.starts_with("resume_"); });
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      for (const Visit<K>& visit : series.visits) {
        visits_s += visit.wall_us * 1e-6;
        end_s = std::max(end_s, visit.at_s + visit.wall_us * 1e-6);
        if (std::isnan(visit.at_s)) end_s = not_measured;
      }
  });
  return std::isfinite(end_s) && !resumed ? end_s : visits_s;
}

void add_missing(std::vector<std::string>& missing, const DeviceOverview& device, const Trace& trace) {
  const auto none = [&](bool is_none, const char* what, const std::string& command) {
    if (is_none) missing.push_back(fmt::format("{} of {} ({})", what, device.id, command));
  };
  const std::string on = " --device " + device.id;
  none(device.copies.empty(), "copies", "npgpu transfer" + on);
  const bool probes = std::ranges::any_of(trace.of<Probes>(), [&](const ProbeSeries& s) {
    return OfDevice{device.id, device.uuid}.has(s);
  });
  if (!probes) {
    none(true, "memory and computing power", "npgpu probe all" + on);
  } else {
    none(device.bandwidth.empty(), "bandwidth of memory", "npgpu probe bandwidth" + on);
    none(device.levels.empty(), "latencies", "npgpu probe latency" + on);
    none(device.compute.empty(), "computing power", "npgpu probe compute" + on);
  }
  if (device.id == "host") return;
  none(device.calls.empty(), "calls", "npgpu calls" + on);
  none(device.stream_costs.empty(), "streams", "npgpu streams --experiment overheads" + on);
}

std::vector<std::string> not_measured_of(const Trace& trace, const Overview& all) {
  std::vector<std::string> missing = left_out_of(trace);
  for (const DeviceOverview& device : all.gpus) add_missing(missing, device, trace);
  if (all.host && all.gpus.empty()) add_missing(missing, *all.host, trace);
  return missing;
}

}  // namespace

Overview overview_of(const Trace& trace) {
  Overview all;
  all.run = trace.root;
  all.provenance = trace.provenance;
  all.seconds = seconds_of(trace);
  all.series = series_of(trace);

  const std::vector<DeviceParameters> derived = model::derive_probes(trace);
  const std::vector<MeasuredCosts> costs = stream_costs(trace);
  for (DeviceOverview& device : measured_devices_of(trace)) {
    const OfDevice its{device.id, device.uuid};
    device.facts = device_facts(trace.provenance, device);
    device.copies = model::copy_curves(trace, its);
    device.bandwidth = model::bandwidth_figures(trace, its);
    device.compute = model::compute_figures(trace, its);
    device.tensor = model::tensor_figures(trace, its);
    device.energy = model::energy_costs(trace, its);
    for (const DeviceParameters& one : derived)
      if (one.device == device.id) device.levels = model::memory_levels(one);
    device.calls = model::call_figures(trace, its);
    model::add_streams(device, trace, costs);
    device.telemetry = model::telemetry_of(trace, its);
    if (device.id == "host") all.host = std::move(device);
    else all.gpus.push_back(std::move(device));
  }
  all.differences = model::differences_of(all.gpus);
  all.health = health_of(trace);
  all.quality = model::quality_of(trace);
  all.missing = not_measured_of(trace, all);
  return all;
}

CheckVerdict verdict_of(const Overview& all) {
  const CheckVerdict verdict = verdict_of(all.health);
  const bool is_open = !all.run.complete || all.gpus.empty();
  return verdict == CheckVerdict::ok && is_open ? CheckVerdict::not_judged : verdict;
}

}  // namespace npgpu
