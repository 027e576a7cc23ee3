#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/probes/derive_parts.hpp"
#include "npgpu/derive.hpp"
#include "npgpu/predict.hpp"

namespace npgpu {

namespace {

constexpr double repeatable = 0.03;  // a larger change between two measurements of a case is no noise

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
  for (const auto& [group, facts] : provenance) {
    if (!is_of(facts, device) && !(group == "host" && device == "host")) continue;
    own.fma_latency_cycles = number(facts, "fma_latency_cycles");
    own.l1d_bytes = number(facts, "l1d_bytes");
    own.l2_bytes = number(facts, "l2_bytes");
    own.l3_bytes = number(facts, "l3_bytes");
    own.in_virtual_machine = number(facts, "in_virtual_machine") > 0;
  }
  return own;
}

using Sweeps = std::vector<const ProbeSeries*>;

const ProbeSeries* find(const Sweeps& sweeps, Operation operation, Form form) {
  for (const ProbeSeries* sweep : sweeps) {
    const ProbeCase& c = sweep->question;
    if (c.probe == "bandwidth" && c.type == DataType::fp32 && c.operation == operation && c.form == form) return sweep;
  }
  return nullptr;
}

DeviceParameters derive_device(const Sweeps& sweeps, const Provenance& provenance) {
  const ProbeSeries& first = *sweeps.front();
  DeviceParameters device;
  device.device = first.question.device;
  device.device_name = first.device_name;
  device.simulated = first.simulated;
  model::OwnFacts own = own_facts(provenance, device.device);

  bool computes = false;
  for (const ProbeSeries* sweep : sweeps) {
    if (!sweep->error.empty()) device.missing.push_back(title(sweep->question) + " stopped early: " + sweep->error);
    if (sweep->question.probe != "compute" || sweep->question.operation != Operation::fma) continue;
    computes = true;
    model::derive_compute(*sweep, own, device);
  }
  if (!computes) device.missing.push_back("P, SM, N_PPipe, L_Pipe and the universal form: need probe compute");

  const ProbeSeries* streaming = find(sweeps, Operation::rmw, Form::streaming);
  const ProbeSeries* dependent = find(sweeps, Operation::rmw, Form::dependent);
  model::derive_bandwidth(streaming, dependent, device);
  if (!streaming && !dependent)
    device.missing.push_back("B, N_MINBl, W_bus, T_delay: need probe bandwidth, operation rmw");
  for (const Operation operation : {Operation::read, Operation::write, Operation::copy, Operation::triad})
    if (const ProbeSeries* sweep = find(sweeps, operation, Form::streaming))
      model::derive_rate(*sweep, "B " + std::string(name(operation)), device);

  bool chases = false;
  own.chased_by_atomics = std::any_of(sweeps.begin(), sweeps.end(), [](const ProbeSeries* s) {
    return s->question.probe == "latency" && s->question.operation == Operation::rmw;
  });
  for (const ProbeSeries* sweep : sweeps) {
    if (sweep->question.probe != "latency") continue;
    chases = true;
    model::derive_levels(*sweep, own, device);
  }
  if (!chases && !device.simulated)
    device.missing.push_back("sizes and latencies of the memory levels: need probe latency");
  return device;
}

// A case may have been measured more than once: the first time, the second time, ... of every case, each by itself.
std::vector<Sweeps> rounds_of(const Sweeps& sweeps) {
  std::vector<Sweeps> rounds;
  for (const ProbeSeries* sweep : sweeps) {
    const auto has_it = [&](const Sweeps& round) {
      return std::any_of(round.begin(), round.end(), [&](const auto* s) { return s->question == sweep->question; });
    };
    auto round = std::find_if(rounds.begin(), rounds.end(), [&](const Sweeps& r) { return !has_it(r); });
    if (round == rounds.end()) round = rounds.insert(rounds.end(), Sweeps{});
    round->push_back(sweep);
  }
  return rounds;
}

// What another round found differently is said, and a verdict is no longer one. Parameters that only it has join.
void add_round(DeviceParameters& into, const DeviceParameters& again) {
  for (const Parameter& other : again.parameters) {
    const auto same = std::find_if(into.parameters.begin(), into.parameters.end(),
                                   [&](const Parameter& p) { return p.name == other.name; });
    if (same == into.parameters.end()) {
      into.parameters.push_back(other);
    } else if (std::abs(other.estimate.value / same->estimate.value - 1) > repeatable) {
      same->note +=
          (same->note.empty() ? "" : "; ") + fmt::format("measured again it was {:.4g}", other.estimate.value);
      same->verdict = Agreement::no_reference;
    }
  }
}

}  // namespace

std::vector<DeviceParameters> derive(const Trace& trace) {
  std::vector<DeviceParameters> all;
  std::vector<std::pair<std::string, Sweeps>> by_device;
  for (const ProbeSeries& sweep : trace.of<Probes>()) {
    // Two GPUs may have been called cuda:0 in turn; their UUIDs tell them apart.
    const std::string key = sweep.question.device + ' ' + sweep.device_uuid;
    auto found = std::find_if(by_device.begin(), by_device.end(), [&](const auto& d) { return d.first == key; });
    if (found == by_device.end()) found = by_device.insert(by_device.end(), {key, {}});
    found->second.push_back(&sweep);
  }
  for (const auto& [key, sweeps] : by_device) {
    const std::vector<Sweeps> rounds = rounds_of(sweeps);
    DeviceParameters device = derive_device(rounds.front(), trace.provenance);
    for (std::size_t i = 1; i < rounds.size(); ++i) add_round(device, derive_device(rounds[i], trace.provenance));
    all.push_back(std::move(device));
  }
  // What streams cost joins the device's other parameters. Whole jobs alone say nothing of costs, and nobody asked.
  for (MeasuredCosts& m : stream_costs(trace)) {
    if (m.parameters.empty()) continue;
    auto found = std::find_if(all.begin(), all.end(), [&](const DeviceParameters& d) { return d.device == m.device; });
    if (found == all.end()) found = all.insert(all.end(), {m.device, m.device_name, m.simulated, {}, {}});
    std::move(m.parameters.begin(), m.parameters.end(), std::back_inserter(found->parameters));
    found->missing.insert(found->missing.end(), m.missing.begin(), m.missing.end());
  }
  return all;
}

}  // namespace npgpu
