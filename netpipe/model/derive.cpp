#include <algorithm>

#include "netpipe/model/derive_parts.hpp"
#include "npgpu/parameters.hpp"

namespace npgpu {

namespace {

double number(const Facts& facts, std::string_view wanted) {
  for (const auto& [name, value] : facts) {
    if (name != wanted) continue;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
  }
  return not_measured;
}

bool is_of(const Facts& facts, const std::string& device) {
  return std::any_of(facts.begin(), facts.end(), [&](const auto& fact) {
    const auto* text = std::get_if<std::string>(&fact.second);
    return fact.first == "id" && text && *text == device;
  });
}

model::OwnFacts own_facts(const Provenance& provenance, const std::string& device) {
  model::OwnFacts own;
  for (const auto& [group, facts] : provenance)
    if (is_of(facts, device)) own.fma_latency_cycles = number(facts, "fma_latency_cycles");
  return own;
}

using Sweeps = std::vector<const ProbeSweep*>;

const ProbeSweep* find(const Sweeps& sweeps, Operation operation, Form form) {
  for (const ProbeSweep* sweep : sweeps) {
    const ProbeCase& c = sweep->question;
    if (c.probe == "bandwidth" && c.type == DataType::fp32 && c.operation == operation && c.form == form) return sweep;
  }
  return nullptr;
}

DeviceParameters derive_device(const Sweeps& sweeps, const Provenance& provenance) {
  const ProbeSweep& first = *sweeps.front();
  DeviceParameters device;
  device.device = first.question.device;
  device.device_name = first.device_name;
  device.simulated = first.simulated;
  const model::OwnFacts own = own_facts(provenance, device.device);

  bool computes = false;
  for (const ProbeSweep* sweep : sweeps) {
    if (!sweep->error.empty()) device.missing.push_back(title(sweep->question) + " stopped early: " + sweep->error);
    if (sweep->question.probe != "compute" || sweep->question.operation != Operation::fma) continue;
    computes = true;
    model::derive_compute(*sweep, own, device);
  }
  if (!computes) device.missing.push_back("P, SM, N_PPipe, L_Pipe and the universal form: need probe compute");

  const ProbeSweep* streaming = find(sweeps, Operation::rmw, Form::streaming);
  const ProbeSweep* dependent = find(sweeps, Operation::rmw, Form::dependent);
  model::derive_bandwidth(streaming, dependent, device);
  if (!streaming && !dependent)
    device.missing.push_back("B, N_MINBl, W_bus, T_delay: need probe bandwidth, operation rmw");
  for (const Operation operation : {Operation::read, Operation::write, Operation::copy, Operation::triad})
    if (const ProbeSweep* sweep = find(sweeps, operation, Form::streaming))
      model::derive_rate(*sweep, "B " + std::string(name(operation)), device);
  return device;
}

}  // namespace

std::vector<DeviceParameters> derive(const Trace& trace) {
  std::vector<DeviceParameters> all;
  std::vector<std::pair<std::string, Sweeps>> by_device;
  for (const ProbeSweep& sweep : trace.probes) {
    // Two GPUs may have been called cuda:0 in turn; their UUIDs tell them apart.
    const std::string key = sweep.question.device + ' ' + sweep.device_uuid;
    auto found = std::find_if(by_device.begin(), by_device.end(), [&](const auto& d) { return d.first == key; });
    if (found == by_device.end()) found = by_device.insert(by_device.end(), {key, {}});
    found->second.push_back(&sweep);
  }
  for (const auto& [key, sweeps] : by_device) all.push_back(derive_device(sweeps, trace.provenance));
  return all;
}

}  // namespace npgpu
