// What the probes onchip, access and tensor say: bandwidths of a unit's own memories and of L2, banks, sectors and
// lines; and how far the rungs of a reduction come.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <map>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/laws.hpp"

namespace npgpu::model {

namespace {

constexpr double for_banks = 0.05, for_pieces = 0.01;
constexpr unsigned lane_word_bytes = 4;
constexpr const char *per_unit = "B/cycle/SM", *operations_per_unit = "ops/cycle/SM";

// The fastest of the shapes that qualify, in bytes or operations per cycle of one unit.
template <class Qualifies>
Parameter fastest(const ProbeSeries& series, const std::string& name, const std::string& meaning, Qualifies qualifies) {
  const auto rates = rates_of(series);
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates)
    if (qualifies(r.axes) && r.cycle_rate.value > (best ? best->cycle_rate.value : 0)) best = &r;
  Parameter p = parameter(name, {}, meaning);
  if (!best || series.layout.units == 0) return p;
  const bool operations = counts_operations(series.question);
  p.estimate = quotient({best->cycle_rate}, {exactly(series.layout.units)}, operations ? operations_per_unit : per_unit,
                        fmt::format("{} of the fastest shape / cycles / units: {}", operations ? "operations" : "bytes",
                                    text_of(best->axes)));
  for (const std::string& doubt : best->doubts) add_note(p.note, doubt);
  return p;
}

void add(Parameter p, const ProbeSeries& series, DeviceParameters& into) {
  if (!std::isfinite(p.estimate.value)) {
    into.missing.push_back(p.name + ": no usable shape with cycles in " + title(series.question));
    return;
  }
  const Layout& l = series.layout;
  const double limit = series.limit.per_s / (l.units * l.clock_mhz * 1e6);
  if (limit > 0) hold_below(p, limit, series.limit.source);
  else leave_unchecked(p, not_reported(into.device));
  into.parameters.push_back(std::move(p));
}

// How many times longer an access took, by stride; the strides are powers of two.
std::map<unsigned, Estimate> slow_downs(const Law& law) {
  std::map<unsigned, Estimate> all;
  for (const LawPoint& p : law.points)
    if (p.shape.offset_bytes == 0 && std::has_single_bit(p.shape.stride) && std::isfinite(p.measured.value))
      all.emplace(p.shape.stride, p.measured);
  return all;
}

void add_banks(const ProbeSeries& series, DeviceParameters& into) {
  const auto by_stride = slow_downs(*law_of(series));
  constexpr unsigned farthest = 64;  // a stride at which also banks of 8 bytes meet in one
  if (!by_stride.contains(1) || !by_stride.contains(2) || !by_stride.contains(farthest))
    return into.missing.push_back("banks and bank width: need probe onchip in shared memory, strides 1, 2, 4, ..., 64");
  Estimate most = by_stride.begin()->second;
  for (const auto& [stride, slower] : by_stride)
    if (slower.value > most.value) most = slower;
  most.unit = "banks";
  most.method = "cycles at the worst stride / cycles at stride 1";
  Parameter banks = parameter("banks", most, "words of shared memory that a unit reads in a cycle");
  hold_against(banks, 32, "CUDA C++ Programming Guide, compute capability 5.x and later", for_banks);
  into.parameters.push_back(std::move(banks));

  for (const auto& [stride, slower] : by_stride) {
    if (stride == 1 || slower.value < std::sqrt(2.0)) continue;
    Estimate bytes = exactly(lane_word_bytes * stride / 2.0);
    bytes.unit = "B";
    bytes.method = fmt::format("half of the smallest stride at which lanes wait for each other, {} words", stride);
    Parameter width = parameter("bank width", bytes, "neighbouring bytes that lie in one bank");
    hold_against(width, lane_word_bytes, "CUDA C++ Programming Guide, compute capability 5.x and later", for_pieces);
    into.parameters.push_back(std::move(width));
    return;
  }
  into.missing.push_back("bank width: no stride of shared memory takes longer than another");
}

// The smallest stride beyond which an access takes no longer: every lane then has a piece of its own.
void add_piece(const ProbeSeries& series, const std::string& name, const std::string& meaning, double reference,
               DeviceParameters& into) {
  const auto by_stride = slow_downs(*law_of(series));
  for (auto at = by_stride.begin(); at != by_stride.end(); ++at) {
    const auto next = by_stride.find(2 * at->first);
    if (next == by_stride.end()) break;
    if (next->second.value / at->second.value > std::sqrt(2.0)) continue;
    Estimate bytes = exactly(lane_word_bytes * static_cast<double>(at->first));
    bytes.unit = "B";
    bytes.method = "the smallest stride of which twice the stride takes less than 1.4 times as long";
    Parameter p = parameter(name, bytes, meaning);
    if (at == by_stride.begin()) add_note(p.note, "already twice the smallest stride takes hardly longer");
    hold_against(p, reference, "CUDA C++ Programming Guide, Device Memory Accesses", for_pieces);
    into.parameters.push_back(std::move(p));
    return;
  }
  into.missing.push_back(name + ": " + title(series.question) +
                         " has no stride beyond which an access takes no longer");
}

// The best rung against the memory's limit, and how many times faster it is than the first.
void add_ladder(const ProbeSeries& series, DeviceParameters& into) {
  const auto rates = rates_of(series);
  const ProbeResult *best = nullptr, *first = nullptr;
  for (const ProbeResult& r : rates) {
    if (r.rate.value > (best ? best->rate.value : 0)) best = &r;
    if (r.axes.rung == 1) first = &r;
  }
  if (!best) return into.missing.push_back("B sum: no usable rung in " + title(series.question));
  Estimate rate = best->rate;
  rate.unit = "bytes per second";
  rate.method = "bytes of the array / time of a pass: " + text_of(best->axes);
  for (Parameter& p : rate_and_part(parameter("B sum", rate, "bytes that the best rung of the reduction reads"),
                                    series.limit.per_s, series.limit.source, "B sum over its limit",
                                    "what part of the memory's limit the best rung reaches"))
    into.parameters.push_back(std::move(p));
  if (!first) return into.missing.push_back("gain of the ladder: needs rung 1 of probe reduction");
  Parameter gain =
      parameter("gain of the ladder", quotient({best->rate}, {first->rate}, "1", "B sum / rate of the first rung"),
                "how many times faster the best rung of the reduction is than the first");
  leave_unchecked(gain, "how fast a rung should be is " + not_reported(into.device));
  into.parameters.push_back(std::move(gain));
}

}  // namespace

void derive_onchip(const ProbeSeries& series, DeviceParameters& into) {
  const auto any = [](const Shape&) { return true; };
  const auto add_rate = [&](const char* name, const char* meaning, auto qualifies) {
    add(fastest(series, name, meaning, qualifies), series, into);
  };
  if (series.question.probe == "access") {
    if (series.question.space == Space::l2)
      add_piece(series, "sector size", "what L2 sends for a word that is asked for", 32, into);
    else add_piece(series, "line size", "what a pass of L1 can serve of a warp's access", 128, into);
    return;
  }
  if (series.question.probe == "reduction") return add_ladder(series, into);
  if (series.question.probe == "tensor") {
    const std::string called =
        fmt::format("tensor {} by {}", name(series.question.type), name(series.question.operation));
    return add_rate(called.c_str(), "products of tensor cores, two operations a multiply-add", any);
  }
  if (series.question.probe != "onchip") return;
  const double l2 = static_cast<double>(series.layout.cache_bytes);
  switch (series.question.space) {
    case Space::shared:
      add_rate("shared bandwidth", "reads of shared memory, 4 bytes a lane, without conflicts", any);
      return add_banks(series, into);
    case Space::l1: return add_rate("L1 bandwidth", "reads that L1 answers, 16 bytes a lane", any);
    case Space::constant:
      return add_rate("constant bandwidth", "one word for a whole warp, 4 bytes counted for each lane", any);
    default: break;
  }
  add_rate("L2 bandwidth", "reads that L2 answers, 16 bytes a lane; all units read all of the set", any);
  if (l2 > 0)
    add_rate("L2 bandwidth of a large set",
             "the same in sets of 55 to 80 % of L2, of which a partition that is half of it cannot keep copies of all",
             [&](const Shape& s) {
               const auto bytes = static_cast<double>(s.bytes);
               return bytes >= 0.55 * l2 && bytes <= 0.8 * l2;
             });
}

}  // namespace npgpu::model
