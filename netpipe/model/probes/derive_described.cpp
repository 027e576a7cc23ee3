// What a probe's description names: rates of a unit, such as bandwidths of its own memories and of L2; banks, sectors
// and lines, which show in the law; and how far the rungs of a ladder come.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/laws.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu::model {

namespace {

constexpr double for_banks = 0.05, for_pieces = 0.01;
constexpr unsigned lane_word_bytes = 4;

bool is_asked(const ProbeSeries& series, const UnitRate& rate) {
  const auto its = [&](const auto& visit) { return rate.of(series.question, visit.axes); };
  if (rate.of && std::ranges::none_of(series.visits, its)) return false;
  return (!rate.space || rate.space == series.question.space) && (rate.most_of_cache == 0 || series.layout.cache_bytes);
}

// Where nobody recorded cycles, as OpenCL cannot: those that go by in its time at the clock of the run, or at the
// highest. True if so.
bool take_cycles_by_time(const ProbeSeries& series, std::vector<ProbeResult>& rates) {
  if (std::ranges::any_of(series.samples, [](const ProbeSample& s) { return s.cycles > 0; })) return false;
  for (ProbeResult& r : rates) {
    const double mhz = r.clock_mhz > 0 ? r.clock_mhz : series.layout.clock_mhz;
    r.cycle_rate = quotient({r.rate}, {exactly(mhz * 1e6)}, r.rate.unit, r.rate.method);
  }
  return true;
}

// Units' memories and pipelines go at the units' clock, so that a cycle has the same limit at any of them. L2 and
// memory are behind the units: at a lower clock, more of their bytes fall to a cycle.
bool is_behind_units(const ProbeCase& c) { return c.space == Space::l2 || c.space == Space::global; }

struct Fastest {
  Parameter rate;
  double clock_mhz = not_measured;  // of the clock that the limit counts in
};

Fastest fastest(const ProbeSeries& series, const UnitRate& wanted) {
  auto rates = rates_of(series);
  const bool by_time = take_cycles_by_time(series, rates);
  const auto cache = static_cast<double>(series.layout.cache_bytes);
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates) {
    const auto bytes = static_cast<double>(r.axes.bytes);
    const bool qualifies =
        wanted.most_of_cache == 0 || (bytes >= wanted.least_of_cache * cache && bytes <= wanted.most_of_cache * cache);
    if (wanted.of && !wanted.of(series.question, r.axes)) continue;
    if (qualifies && r.cycle_rate.value > (best ? best->cycle_rate.value : 0)) best = &r;
  }
  Parameter p =
      parameter(fmt::format(fmt::runtime(wanted.name), name(series.question.type), name(series.question.operation)), {},
                wanted.meaning);
  const double highest = series.layout.clock_mhz;
  if (!best || series.layout.units == 0) return {p, highest};
  if (by_time)
    add_note(p.note, std::string("no cycles were recorded: its time at ") +
                         (best->clock_mhz > 0 ? "the clock of the run" : "the highest clock"));
  if (wanted.step) {
    p.estimate = quotient({exactly(wanted.step(series.question, best->axes))}, {best->cycle_rate}, "cycles",
                          "cycles / steps: " + text_of(best->axes));
    for (const std::string& doubt : best->doubts) add_note(p.note, doubt);
    return {p, highest};
  }
  // Blocks of a cluster may leave some units without one.
  const std::uint32_t units =
      best->axes.cluster ? std::min(series.layout.units, best->axes.blocks) : series.layout.units;
  const std::string_view unit = counted_of(series.question).unit;
  const bool bytes = unit == "B", operations = unit.ends_with("OP");
  p.estimate = quotient({best->cycle_rate}, {exactly(units)}, fmt::format("{}/cycle/SM", operations ? "ops" : unit),
                        fmt::format("{} of the fastest shape / cycles / units: {}",
                                    bytes        ? "bytes"
                                    : operations ? "operations"
                                                 : unit,
                                    text_of(best->axes)));
  for (const std::string& doubt : best->doubts) add_note(p.note, doubt);
  return {p, is_behind_units(series.question) && best->clock_mhz > 0 ? best->clock_mhz : highest};
}

void add(Fastest found, const ProbeSeries& series, DeviceParameters& into) {
  Parameter& p = found.rate;
  if (!std::isfinite(p.estimate.value)) {
    into.missing.push_back(p.name + ": no usable shape with cycles in " + title(series.question));
    return;
  }
  const double limit = series.limit.per_s / (series.layout.units * found.clock_mhz * 1e6);
  if (p.estimate.unit == "cycles") leave_unchecked(p, not_reported(into.device));
  else if (limit > 0) hold_below(p, limit, series.limit.source);
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
void add_piece(const ProbeSeries& series, const HardwareSize& size, DeviceParameters& into) {
  const auto by_stride = slow_downs(*law_of(series));
  for (auto at = by_stride.begin(); at != by_stride.end(); ++at) {
    const auto next = by_stride.find(2 * at->first);
    if (next == by_stride.end()) break;
    if (next->second.value / at->second.value > std::sqrt(2.0)) continue;
    Estimate bytes = exactly(lane_word_bytes * static_cast<double>(at->first));
    bytes.unit = "B";
    bytes.method = "the smallest stride of which twice the stride takes less than 1.4 times as long";
    Parameter p = parameter(size.name, bytes, size.meaning);
    if (at == by_stride.begin()) add_note(p.note, "already twice the smallest stride takes hardly longer");
    hold_against(p, size.bytes, "CUDA C++ Programming Guide, Device Memory Accesses", for_pieces);
    into.parameters.push_back(std::move(p));
    return;
  }
  into.missing.push_back(
      fmt::format("{}: {} has no stride beyond which an access takes no longer", size.name, title(series.question)));
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

void derive_described(const ProbeSeries& series, DeviceParameters& into) {
  const ProbeDescription& described = description_of(series.question);
  for (const UnitRate& rate : described.unit_rates)
    if (is_asked(series, rate)) add(fastest(series, rate), series, into);
  if (const LawRule* const law = rule_of(series.question)) {
    if (law->shows_banks) add_banks(series, into);
    if (law->size) add_piece(series, *law->size, into);
  }
  if (described.question == ProbeQuestion::ladder) add_ladder(series, into);
}

}  // namespace npgpu::model
