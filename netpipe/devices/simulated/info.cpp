#include <algorithm>

#include "netpipe/devices/simulated/spec.hpp"

namespace npgpu::simulated {

namespace {

void add_link(Facts& facts, const std::string& prefix, const Link& link) {
  facts.emplace_back(prefix + "_gb_s", link.bytes_per_s / 1e9);
  facts.emplace_back(prefix + "_latency_us", microseconds(link.latency));
  facts.emplace_back(prefix + "_gap_us", microseconds(link.gap));
}

// "write-combined" -> "write_combined": fact names are snake_case.
std::string snake(std::string_view word) {
  std::string text(word);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

double fastest(const Spec& spec) {
  double best = not_measured;
  for (const auto* links : {&spec.h2d, &spec.d2h})
    for (const auto& [memory, link] : *links)
      if (!(link.bytes_per_s <= best)) best = link.bytes_per_s;
  return best;
}

Limit limit(double stated, double derived, const std::string& from) {
  if (stated > 0) return {stated, "stated in the spec"};
  if (derived > 0) return {derived, from};
  return {};
}

Facts facts_of(const Spec& spec) {
  Facts facts{{"spec_file", spec.file.string()}, {"spec_source", spec.source}};
  facts.insert(facts.end(), spec.hardware.begin(), spec.hardware.end());
  for (const auto& [memory, link] : spec.h2d) add_link(facts, "h2d_" + snake(name(memory)), link);
  for (const auto& [memory, link] : spec.d2h) add_link(facts, "d2h_" + snake(name(memory)), link);
  if (spec.d2d) add_link(facts, "d2d", *spec.d2d);
  if (spec.h2h) add_link(facts, "h2h", *spec.h2h);
  facts.emplace_back("copy_engines", std::int64_t{spec.copy_engines});
  facts.emplace_back("duplex_sl_h", spec.duplex_slowdown_h2d);
  facts.emplace_back("duplex_sl_d", spec.duplex_slowdown_d2h);
  facts.emplace_back("copy_us", microseconds(spec.host.copy));
  facts.emplace_back("copy_async_us", microseconds(spec.host.copy_async));
  facts.emplace_back("launch_us", microseconds(spec.host.launch));
  facts.emplace_back("record_us", microseconds(spec.host.record));
  facts.emplace_back("synchronize_us", microseconds(spec.host.synchronize));
  facts.emplace_back("gate_capacity", static_cast<std::int64_t>(spec.host.gate_capacity));
  facts.emplace_back("noise_seed", static_cast<std::int64_t>(spec.noise.seed));
  facts.emplace_back("noise_sigma", spec.noise.sigma);
  facts.emplace_back("noise_operation_sigma", spec.noise.operation_sigma);
  facts.emplace_back("noise_outlier_rate", spec.noise.outlier_rate);
  facts.emplace_back("noise_outlier_factor", spec.noise.outlier_factor);
  std::string faults;
  for (const Fault& fault : spec.faults)
    faults += (faults.empty() ? "" : ", ") + std::string(name(fault.kind)) + " at call " + std::to_string(fault.call);
  if (!faults.empty()) facts.emplace_back("faults", faults);
  return facts;
}

}  // namespace

DeviceInfo info_of(const Spec& spec, const std::string& id) {
  DeviceInfo info;
  info.id = id;
  info.name = spec.name;
  info.simulated = true;
  info.memory_bytes = spec.memory_bytes;
  info.link = limit(spec.link_limit_bytes_per_s, fastest(spec), "the fastest link of the spec");
  info.memory = limit(spec.memory_limit_bytes_per_s, spec.d2d ? 2 * spec.d2d->bytes_per_s : not_measured,
                      "the spec's d2d rate, read and write counted");
  info.facts = facts_of(spec);
  return info;
}

}  // namespace npgpu::simulated
