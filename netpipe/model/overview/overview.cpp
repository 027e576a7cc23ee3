#include "npgpu/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/by_device.hpp"
#include "netpipe/model/health/record.hpp"
#include "netpipe/model/overview/parts.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/run_facts.hpp"
#include "npgpu/check.hpp"

namespace npgpu {

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
  for (const CheckOf::Gpu& gpu : gpus_of(trace)) add(gpu);
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
  std::vector<std::string> missing;
  for (const auto& [name, why] : facts_of(trace.provenance, "plan"))
    if (const auto* text = std::get_if<std::string>(&why); text && name.starts_with("left_out"))
      missing.push_back(*text);
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
