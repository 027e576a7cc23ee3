#include "npgpu/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "netpipe/engine/sort_stably.hpp"
#include "netpipe/model/by_device.hpp"
#include "netpipe/model/judge.hpp"
#include "netpipe/model/probes/corner_points.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu {

namespace {

constexpr double near_roof = 0.97, same_speed = 0.99;
// From so much of the other roof on, a point has both to wait for.
constexpr double near_ridge = 0.45, least_of_loads = 0.01;

const std::string memory_name = "memory", l2_name = "L2", shared_name = "shared";

bool names_memory(const std::string& roof) { return roof == memory_name || roof == l2_name || roof == shared_name; }

// What the series is a roof of; empty where it is of none.
std::string roof_name(const ProbeCase& c) {
  if (asks(c, ProbeQuestion::memory_bandwidth))
    return c.operation == Operation::read && c.form == Form::streaming ? memory_name : "";
  if (asks(c, ProbeQuestion::computing_power)) return std::string(name(c.type));
  if (asks(c, ProbeQuestion::tensor_power)) return fmt::format("tensor {} {}", name(c.type), name(c.operation));
  if (c.operation == Operation::read && c.space == Space::l2) return l2_name;
  if (c.operation == Operation::read && c.space == Space::shared) return shared_name;
  return {};
}

std::string roof_of_point(const ProbeCase& c) {
  return c.operation == Operation::fma ? std::string(name(c.type))
                                       : fmt::format("tensor {} {}", name(c.type), name(c.operation));
}

const std::string& level_of_point(const ProbeCase& c) {
  return c.space == Space::shared ? shared_name : c.space == Space::l2 ? l2_name : memory_name;
}

// Whether this set of L2 says more than the other: the larger one, of those up to half of L2; else the faster one.
bool is_better_l2(const ProbeResult& r, const ProbeResult& than, const Layout& l) {
  const auto in_half = [&](const ProbeResult& one) { return one.axes.bytes <= l.cache_bytes / 2 ? one.axes.bytes : 0; };
  return std::pair(in_half(r), r.rate.value) > std::pair(in_half(than), than.rate.value);
}

// The fastest shape; of the memory's own one that no cache answers.
std::optional<Roof> roof_from(const ProbeSeries& series) {
  Roof roof{.name = roof_name(series.question), .is_memory = !counts_operations(series.question)};
  if (roof.name.empty()) return std::nullopt;
  const auto rates = model::rates_of(series);
  const ProbeResult* best = nullptr;
  if (roof.name == memory_name) {
    best = model::corner_point(rates, model::Corner::all_all, model::Per::second, series.layout.units);
  } else {
    for (const ProbeResult& r : rates) {
      if (!(r.rate.value > 0)) continue;
      const bool better =
          !best || (roof.name == l2_name ? is_better_l2(r, *best, series.layout) : r.rate.value > best->rate.value);
      if (better) best = &r;
    }
  }
  if (!best) return std::nullopt;
  roof.rate = best->rate;
  roof.rate.unit = roof.is_memory ? "B/s" : is_whole_number(series.question.type) ? "OP/s" : "FLOP/s";
  roof.clock_mhz = best->clock_mhz;
  roof.at = text_of(best->axes);
  roof.doubts = best->doubts;
  return roof;
}

Estimate share_of(const Estimate& rate, const Estimate& roof) {
  return model::quotient({rate}, {roof}, "1", "rate over its roof");
}

Estimate times(Estimate e, double factor) {
  for (double* value : {&e.value, &e.low, &e.high}) *value *= factor;
  return e;
}

RoofVerdict verdict_of_share(const Estimate& share) {
  switch (model::rule(share, model::Allowed::at_least, near_roof)) {
    case model::Ruling::ok: return RoofVerdict::reaches;
    case model::Ruling::slow: return RoofVerdict::below;
    case model::Ruling::undecided: return RoofVerdict::undecided;
    default: return RoofVerdict::no_roof;
  }
}

// Of 64 bytes that a thread works on it has four loads, and as many multiply-adds as the intensity says.
double share_of_loads(const ProbeCase& c, double intensity) {
  constexpr double loads = 4, bytes = 64, operations_of_fma = 2;
  return c.operation == Operation::fma ? loads / (loads + intensity * bytes / operations_of_fma) : 0;
}

// Why a point is below its roof, as far as the trace shows it.
void add_reasons(RooflinePoint& p, const Roof& arithmetic, const Roof& memory) {
  if (p.verdict == RoofVerdict::reaches || p.verdict == RoofVerdict::no_roof) return;
  const bool computes = p.bound == arithmetic.name;
  const Roof& bound = computes ? arithmetic : memory;
  const double clocks = p.clock_mhz / bound.clock_mhz;
  if ((computes || bound.name == shared_name) && clocks < same_speed)  // memory and L2 have clocks of their own
    p.doubts.push_back(fmt::format("it ran at {:.0f} MHz, {} at {:.0f}: at its own clock it reaches {:.1f} %",
                                   p.clock_mhz, bound.name, bound.clock_mhz, 100 * p.share.value / clocks));
  const double other = computes ? p.memory : p.computing;
  if (other > near_ridge)
    p.doubts.push_back(fmt::format("it is near the ridge: it also uses {:.0f} % of {}", 100 * other,
                                   computes ? memory.name : arithmetic.name));
  if (const double loads = share_of_loads(p.question, p.intensity); computes && loads > least_of_loads)
    p.doubts.push_back(fmt::format("{:.0f} % of what its threads issue are loads", 100 * loads));
}

void add_points(const ProbeSeries& series, Roofline& into) {
  const std::string arithmetic = roof_of_point(series.question);
  const std::string& level = level_of_point(series.question);
  const Roof *const top = into.roof(arithmetic), *const slope = into.roof(level);
  for (const ProbeResult& r : model::rates_of(series)) {
    RooflinePoint p{.question = series.question,
                    .intensity = intensity_of(r.axes),
                    .rate = r.rate,
                    .clock_mhz = r.clock_mhz,
                    .arithmetic = arithmetic,
                    .level = level,
                    .doubts = r.doubts};
    p.rate.unit = "FLOP/s";
    if (top && slope) {
      const Estimate sloping = times(slope->rate, p.intensity);
      p.memory = p.rate.value / sloping.value;
      p.computing = p.rate.value / top->rate.value;
      const bool computes = top->rate.value <= sloping.value;
      p.bound = computes ? top->name : slope->name;
      p.roof = computes ? top->rate.value : sloping.value;
      p.share = share_of(p.rate, computes ? top->rate : sloping);
      p.verdict = verdict_of_share(p.share);
      add_reasons(p, *top, *slope);
    }
    into.points.push_back(std::move(p));
  }
}

// A probe's name as a user types it, for what is missing.
void add_missing(Roofline& device) {
  if (!device.roof(memory_name))
    device.missing.push_back("the roof of the memory: npgpu probe bandwidth --operation read measures it");
  std::vector<std::string> said{memory_name};
  const auto lacks = [&](const std::string& roof) {
    if (device.roof(roof) || std::ranges::find(said, roof) != said.end()) return false;
    said.push_back(roof);
    return true;
  };
  for (const RooflinePoint& p : device.points) {
    if (lacks(p.level))
      device.missing.push_back(
          fmt::format("the roof of {}: npgpu probe onchip --space {} measures it", p.level, name(p.question.space)));
    if (!lacks(p.arithmetic)) continue;
    device.missing.push_back(fmt::format("the roof of {}: npgpu probe {} --type {} measures it", p.arithmetic,
                                         p.question.operation == Operation::fma ? "compute" : "tensor",
                                         name(p.question.type)));
  }
  if (device.points.empty()) device.missing.push_back("points between the roofs: npgpu probe roofline measures them");
}

void add_roof(Roof roof, std::vector<Roof>& to) {
  const auto same = std::ranges::find(to, roof.name, &Roof::name);
  if (same == to.end()) to.push_back(std::move(roof));
  else if (roof.rate.value > same->rate.value) *same = std::move(roof);
}

}  // namespace

const Roof* Roofline::roof(const std::string& called) const {
  const Roof* found = nullptr;
  for (const Roof& one : roofs)
    if ((one.name == called || one.name.starts_with(called + ' ')) && (!found || one.rate.value > found->rate.value))
      found = &one;
  return found;
}

std::vector<Roofline> rooflines_of(const Trace& trace) {
  std::vector<Roofline> all;
  for (const auto& of_device : model::by_device<Probes>(trace)) {
    const ProbeSeries& any = *of_device.front();
    Roofline device{.device = any.question.device,
                    .device_name = any.device_name,
                    .device_uuid = any.device_uuid,
                    .simulated = any.simulated};
    for (const ProbeSeries* series : of_device)
      if (auto roof = roof_from(*series)) add_roof(std::move(*roof), device.roofs);
    sort_stably(device.roofs, [](const Roof& a, const Roof& b) {
      if (a.is_memory != b.is_memory) return a.is_memory;
      return a.is_memory && a.rate.value < b.rate.value;
    });
    for (const ProbeSeries* series : of_device)
      if (asks(series->question, ProbeQuestion::roofline)) add_points(*series, device);
    if (device.roofs.empty() && device.points.empty()) continue;
    for (const Roof& memory : device.roofs)
      for (const Roof& roof : device.roofs)
        if (memory.is_memory && !roof.is_memory)
          device.ridges.push_back(
              {roof.name, memory.name,
               model::quotient({roof.rate}, {memory.rate}, roof.rate.unit == "OP/s" ? "OP/B" : "FLOP/B",
                               "rate of " + roof.name + " over that of " + memory.name)});
    add_missing(device);
    all.push_back(std::move(device));
  }
  return all;
}

double UserKernel::operations() const {
  double sum = 0;
  for (const KernelWork& one : work)
    if (!names_memory(one.roof)) sum += one.amount;
  return sum;
}

double UserKernel::bytes() const {
  double sum = 0;
  for (const KernelWork& one : work)
    if (one.roof == memory_name) sum += one.amount;
  return sum;
}

PlacedKernel placed(const Roofline& device, const UserKernel& kernel) {
  PlacedKernel p{.kernel = kernel};
  p.intensity = kernel.operations() / kernel.bytes();
  p.rate = kernel.operations() / kernel.time.count();
  std::set<std::string> units;
  for (const KernelWork& one : kernel.work) {
    if (!(one.amount > 0)) continue;
    const Roof* const roof = device.roof(one.roof);
    if (roof) p.uses.push_back({roof->name, one.amount / roof->rate.value / kernel.time.count()});
    else p.unknown.push_back(one.roof);
    if (!roof || !roof->is_memory) units.insert(roof ? roof->rate.unit : p.unit);
  }
  if (units.size() == 1) p.unit = *units.begin();
  sort_stably(p.uses, std::ranges::greater{}, &PlacedKernel::Use::share);
  if (p.uses.empty()) return p;
  p.bound = p.uses.front().roof;
  p.is_bound_by_memory = device.roof(p.bound)->is_memory;
  p.share = p.uses.front().share;
  p.least_us = microseconds(kernel.time) * p.share;
  return p;
}

}  // namespace npgpu
