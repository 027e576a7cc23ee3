#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

namespace {

const std::string memory_name = "memory", l2_name = "L2", shared_name = "shared";

bool names_memory(const std::string& roof) { return roof == memory_name || roof == l2_name || roof == shared_name; }

// What the series is a roof of; empty where it is of none.
std::string roof_name(const ProbeCase& c) {
  if (description_of(c).name.empty()) return {};  // work that this build cannot count
  if (asks(c, ProbeQuestion::memory_bandwidth))
    return c.operation == Operation::read && c.form == Form::streaming ? memory_name : "";
  if (asks(c, ProbeQuestion::computing_power)) return std::string(name(c.type));
  const bool by_groups = c.operation == Operation::wgmma && c.form == Form::streaming;
  if (asks(c, ProbeQuestion::tensor_power) || by_groups)
    return fmt::format("tensor {} {}", name(c.type), name(c.operation));
  if (c.operation == Operation::read && c.space == Space::l2) return l2_name;
  if (c.operation == Operation::read && c.space == Space::shared) return shared_name;
  return {};
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
      if (!(r.rate.value > 0) || r.axes.operands == Operands::zeros) continue;
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

void add_roof(Roof roof, std::vector<Roof>& to) {
  const auto same = std::ranges::find(to, roof.name, &Roof::name);
  if (same == to.end()) to.push_back(std::move(roof));
  else if (roof.rate.value > same->rate.value) *same = std::move(roof);
}

// mma reaches part of what tensor cores with wgmma do. Where nobody measured wgmma the documented rate is the roof;
// where none is documented the roof is not known.
void add_peaks(const std::vector<const ProbeSeries*>& all, Roofline& device) {
  for (const ProbeSeries* series : all) {
    const ProbeCase& c = series->question;
    const std::string type = fmt::format("tensor {}", name(c.type));
    if (!asks(c, ProbeQuestion::tensor_power) || c.operation != Operation::mma || c.type == DataType::fp64 ||
        device.roof(type + " wgmma") || device.roof(type + " peak"))
      continue;
    const Roof* const mma = device.roof(type + " mma");
    if (!mma) continue;
    if (series->limit.per_s > 0) {
      Roof peak{.name = type + " peak", .clock_mhz = series->layout.clock_mhz, .at = series->limit.source};
      peak.rate.value = series->limit.per_s;
      peak.rate.unit = mma->rate.unit;
      device.roofs.push_back(std::move(peak));
    } else {
      std::erase_if(device.roofs, [&](const Roof& roof) { return roof.name == type + " mma"; });
      device.missing.push_back(fmt::format(
          "the roof of {}, of which mma reaches a part: npgpu probe tensor --type {} measures it", type, name(c.type)));
    }
  }
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
    const bool has_wgmma = model::capability_of(trace, device.device) == "9.0";  // as far as the trace says
    if (has_wgmma) add_peaks(of_device, device);
    sort_stably(device.roofs, [](const Roof& a, const Roof& b) {
      if (a.is_memory != b.is_memory) return a.is_memory;
      return a.is_memory && a.rate.value < b.rate.value;
    });
    if (device.roofs.empty()) continue;
    for (const Roof& memory : device.roofs)
      for (const Roof& roof : device.roofs)
        if (memory.is_memory && !roof.is_memory)
          device.ridges.push_back(
              {roof.name, memory.name,
               model::quotient({roof.rate}, {memory.rate}, roof.rate.unit == "OP/s" ? "OP/B" : "FLOP/B",
                               "rate of " + roof.name + " over that of " + memory.name)});
    if (!device.roof(memory_name))
      device.missing.push_back("the roof of the memory: npgpu probe bandwidth --operation read measures it");
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
