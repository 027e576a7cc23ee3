#include "npgpu/model/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::model {

namespace {

constexpr double too_wide = 0.10;

// The value or its interval is too poor to decide; the note says why.
bool is_poor(Parameter& p) {
  const Estimate& e = p.estimate;
  if (!std::isfinite(e.value)) {
    if (p.note.empty()) add_note(p.note, "it could not be derived");
    return true;
  }
  const double half = (e.high - e.low) / 2 / std::abs(e.value);
  if (!(half > too_wide)) return false;
  add_note(p.note, fmt::format("its interval is {:.0f} % either way: too wide to check", 100 * half));
  return true;
}

// Takes the reference over; false where there is none, or the value is too poor to decide.
bool refer(Parameter& p, double reference, const std::string& source, const std::string& agrees) {
  if (!(reference > 0)) return leave_unchecked(p, source), false;
  p.reference = reference;
  p.reference_source = source + "; agrees " + agrees;
  p.verdict = Agreement::undecided;
  return !is_poor(p);
}

// The value is outside low .. high.
bool is_clearly_outside(Parameter& p, double low, double high) {
  const Estimate& e = p.estimate;
  if (e.low > high || e.high < low) return true;
  add_note(p.note, std::isfinite(e.high - e.low) ? "its interval reaches the reference, so it is not decided"
                                                 : "it has no interval, so it is not decided");
  return false;
}

}  // namespace

Estimate quotient(std::initializer_list<Estimate> over, std::initializer_list<Estimate> under, std::string unit,
                  std::string method) {
  Estimate e{1, 1, 1, std::move(unit), std::move(method)};
  for (const Estimate& factor : over) {
    e.value *= factor.value;
    e.low *= factor.low;
    e.high *= factor.high;
  }
  for (const Estimate& factor : under) {
    e.value /= factor.value;
    e.low /= factor.high;
    e.high /= factor.low;
  }
  return e;
}

Parameter parameter(std::string name, Estimate estimate, std::string meaning, std::string note) {
  Parameter p;
  p.name = std::move(name);
  p.estimate = std::move(estimate);
  p.meaning = std::move(meaning);
  p.note = std::move(note);
  return p;
}

void add_note(std::string& note, const std::string& what) { note += (note.empty() ? "" : "; ") + what; }

std::string not_reported(const std::string& device) {
  return std::string("not reported by ") + (device.starts_with("host")   ? "the system"
                                            : device.starts_with("sim:") ? "its spec"
                                                                         : "the driver");
}

void leave_unchecked(Parameter& p, const std::string& why) {
  p.verdict = Agreement::no_reference;
  p.reference = not_measured;
  p.reference_source = why;
}

void hold_against(Parameter& p, double reference, const std::string& source, double tolerance) {
  if (!refer(p, reference, source, fmt::format("within {:g} %", 100 * tolerance))) return;
  if (std::abs(p.estimate.value / reference - 1) <= tolerance) p.verdict = Agreement::agrees;
  else if (!p.note.empty()) add_note(p.note, "so it cannot be said to disagree");
  else if (is_clearly_outside(p, reference * (1 - tolerance), reference * (1 + tolerance)))
    p.verdict = Agreement::disagrees;
}

void hold_below(Parameter& p, double limit, const std::string& source, double above) {
  if (!refer(p, limit, source, fmt::format("from 95 to {:g} %, lower is no error", 100 * (1 + above)))) return;
  const double part = p.estimate.value / limit;
  if (part >= 0.95 && part <= 1 + above) {
    p.verdict = Agreement::agrees;
  } else if (part < 0.95) {
    add_note(p.note, fmt::format("{:.1f} % of its limit", 100 * part));
  } else if (is_clearly_outside(p, 0, limit * (1 + above))) {
    p.verdict = Agreement::disagrees;
    add_note(p.note, "above its limit: work was left out, or the limit is wrong");
  }
}

std::array<Parameter, 2> rate_and_part(Parameter rate, double limit, const std::string& source, std::string method,
                                       std::string meaning_of_part) {
  Parameter part = parameter(rate.name + " reached", {}, std::move(meaning_of_part), rate.note);
  hold_below(rate, limit, source);
  part.estimate = quotient({rate.estimate, exactly(100)}, {exactly(rate.reference)}, "percent", std::move(method));
  leave_unchecked(part, "a part of a limit has no reference");
  return {std::move(rate), std::move(part)};
}

}  // namespace npgpu::model

namespace npgpu {

namespace {

constexpr double repeatable = 0.03;  // a larger change between two measurements of a case is no noise

// Also of the device of another family that it is too (`same_as`): a CPU by OpenCL is the host.
model::OwnFacts own_facts(const Provenance& provenance, const std::string& device) {
  const auto is_of = [](const auto& group, const std::string& id) {
    const Fact* const its = find_fact(group.second, "id");
    return (its && *its == Fact(id) && !model::is_of_end(group.first)) || (group.first == "host" && id == "host");
  };
  std::string twin;
  for (const auto& group : provenance)
    if (is_of(group, device)) twin = text_fact(group.second, "same_as");
  model::OwnFacts own;
  const auto take = [](double& into, double value) {
    if (!std::isnan(value)) into = value;
  };
  for (const auto& group : provenance) {
    if (!is_of(group, device) && (twin.empty() || !is_of(group, twin))) continue;
    const Facts& facts = group.second;
    take(own.fma_latency_cycles, number_fact(facts, "fma_latency_cycles"));
    take(own.l1d_bytes, number_fact(facts, "l1d_bytes"));
    take(own.l2_bytes, number_fact(facts, "l2_bytes"));
    take(own.l3_bytes, number_fact(facts, "l3_bytes"));
    own.in_virtual_machine = own.in_virtual_machine || number_fact(facts, "in_virtual_machine") > 0;
  }
  return own;
}

using SeriesList = std::vector<const ProbeSeries*>;

// Bandwidths of the device's memory, in single precision where it was measured, else in the type that comes first:
// hosts are probed in double precision.
SeriesList bandwidths_of(const SeriesList& list) {
  SeriesList all;
  std::copy_if(list.begin(), list.end(), std::back_inserter(all), [](const ProbeSeries* s) {
    const Space space = s->question.space;
    return asks(s->question, ProbeQuestion::memory_bandwidth) && (space == Space::global || space == Space::host);
  });
  std::stable_partition(all.begin(), all.end(), [](const auto* s) { return s->question.type == DataType::fp32; });
  if (!all.empty())
    std::erase_if(all, [type = all.front()->question.type](const auto* s) { return s->question.type != type; });
  return all;
}

DeviceParameters derive_device(const SeriesList& list, const Provenance& provenance) {
  const ProbeSeries& first = *list.front();
  DeviceParameters device;
  device.device = first.question.device;
  device.device_name = first.device_name;
  device.simulated = first.simulated;
  model::OwnFacts own = own_facts(provenance, device.device);

  bool computes = false;
  for (const ProbeSeries* series : list) {
    if (!series->error.empty()) device.missing.push_back(title(series->question) + " stopped early: " + series->error);
    if (question_of(series->question) != ProbeQuestion::computing_power) continue;
    computes = true;
    model::derive_compute(*series, own, device);
  }
  if (!computes) device.missing.push_back("P, SM, N_PPipe, L_Pipe and the universal form: need probe compute");

  const auto bandwidth = [all = bandwidths_of(list)](Operation operation, Form form) {
    const auto its = [&](const auto* s) { return s->question.operation == operation && s->question.form == form; };
    const auto found = std::find_if(all.begin(), all.end(), its);
    return found == all.end() ? nullptr : *found;
  };
  const ProbeSeries* streaming = bandwidth(Operation::rmw, Form::streaming);
  const ProbeSeries* dependent = bandwidth(Operation::rmw, Form::dependent);
  model::derive_bandwidth(streaming, dependent, device);
  if (!streaming && !dependent)
    device.missing.push_back("B, N_MINBl, W_bus, T_delay: need probe bandwidth, operation rmw");
  for (const Operation operation : {Operation::read, Operation::write, Operation::copy, Operation::triad})
    if (const ProbeSeries* series = bandwidth(operation, Form::streaming))
      model::derive_rate(*series, "B " + std::string(name(operation)), device);

  bool chases = false;
  own.chased_by_atomics = std::any_of(list.begin(), list.end(), [](const ProbeSeries* s) {
    return asks(s->question, ProbeQuestion::memory_latency) && s->question.operation == Operation::rmw;
  });
  for (const ProbeSeries* series : list) {
    if (!asks(series->question, ProbeQuestion::memory_latency)) continue;
    chases = true;
    model::derive_levels(*series, own, device);
  }
  for (const ProbeSeries* series : list) model::derive_described(*series, device);
  for (const ProbeSeries* series : list) model::derive_migration(*series, device);
  for (const ProbeSeries* series : list) model::derive_banks(*series, device);
  model::derive_gemm(list, device);
  if (!chases && !device.simulated)
    device.missing.push_back("sizes and latencies of the memory levels: need probe latency");
  return device;
}

// A case may have been measured more than once: the first time, the second time, ... of every case, each by itself.
std::vector<SeriesList> rounds_of(const SeriesList& list) {
  std::vector<SeriesList> rounds;
  for (const ProbeSeries* series : list) {
    const auto has_it = [&](const SeriesList& round) {
      return std::any_of(round.begin(), round.end(), [&](const auto* s) { return s->question == series->question; });
    };
    auto round = std::find_if(rounds.begin(), rounds.end(), [&](const SeriesList& r) { return !has_it(r); });
    if (round == rounds.end()) round = rounds.insert(rounds.end(), SeriesList{});
    round->push_back(series);
  }
  return rounds;
}

// What another round found differently is noted, and then nothing is decided. Parameters that only it has are added.
void add_round(DeviceParameters& into, const DeviceParameters& again) {
  for (const Parameter& other : again.parameters) {
    const auto same = std::find_if(into.parameters.begin(), into.parameters.end(),
                                   [&](const Parameter& p) { return p.name == other.name; });
    if (same == into.parameters.end()) {
      into.parameters.push_back(other);
    } else if (std::abs(other.estimate.value / same->estimate.value - 1) > repeatable) {
      model::add_note(same->note, fmt::format("measured again it was {:.4g}", other.estimate.value));
      if (same->verdict != Agreement::no_reference) same->verdict = Agreement::undecided;
    }
  }
}

}  // namespace

namespace model {

std::vector<DeviceParameters> derive_probes(const Trace& trace) {
  std::vector<DeviceParameters> all;
  for (const SeriesList& list : by_device<Probes>(trace)) {
    const std::vector<SeriesList> rounds = rounds_of(list);
    DeviceParameters device = derive_device(rounds.front(), trace.provenance);
    for (std::size_t i = 1; i < rounds.size(); ++i) add_round(device, derive_device(rounds[i], trace.provenance));
    all.push_back(std::move(device));
  }
  return all;
}

std::vector<DeviceParameters> derive(const Trace& trace, const std::vector<MeasuredCosts>& costs) {
  std::vector<DeviceParameters> all = derive_probes(trace);
  // What streams cost joins the device's other parameters. Whole jobs alone say nothing of costs, and nobody asked.
  for (const MeasuredCosts& m : costs) {
    const auto measured = [](const Parameter& p) { return std::isfinite(p.estimate.value); };
    if (std::none_of(m.parameters.begin(), m.parameters.end(), measured)) continue;
    auto found = std::find_if(all.begin(), all.end(), [&](const DeviceParameters& d) { return d.device == m.device; });
    if (found == all.end()) found = all.insert(all.end(), {m.device, m.device_name, m.simulated, {}, {}});
    found->parameters.insert(found->parameters.end(), m.parameters.begin(), m.parameters.end());
    found->missing.insert(found->missing.end(), m.missing.begin(), m.missing.end());
  }
  for (const auto& calls : by_device<Calls>(trace)) {
    std::vector<Parameter> parameters = clearing_parameters(calls);
    if (parameters.empty()) continue;
    const CallSeries& of = *calls.front();
    auto found = std::ranges::find(all, of.question.device, &DeviceParameters::device);
    if (found == all.end()) found = all.insert(all.end(), {of.question.device, of.device_name, of.simulated, {}, {}});
    std::ranges::move(parameters, std::back_inserter(found->parameters));
  }
  return all;
}

}  // namespace model

std::vector<DeviceParameters> derive(const Trace& trace) { return model::derive(trace, stream_costs(trace)); }

}  // namespace npgpu
