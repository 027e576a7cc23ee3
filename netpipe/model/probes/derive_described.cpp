// What the probes banks and migration show, and what a probe's description names.
//
// From one warp's loads of the probe banks, each waited for:
//   bank latency                a load of words in 32 different banks
//   bank latency, random words  a load of words of a random order
//   bank conflict cycles        what each lane more in a bank adds: (32 lanes in one - none) / 31
// From all warps that fit:
//   bank passes, random words   how many times longer than words without a conflict these take. It is compared with the
//                               largest of 32 bins that get 32 balls.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "netpipe/model/probes/derivation.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::model {

namespace {

constexpr std::uint32_t in_steps = 1, in_any_bank_once = 2, at_random = 3, lanes_of_warp = 32;
constexpr std::uint64_t bytes_of_pattern = 128;
// What is drawn is not what is expected: the mean of 256 patterns is within 3 % of it.
constexpr double for_drawn = 0.03;

// With the largest set, of which most patterns were drawn.
const ProbeResult* of_words(const std::vector<ProbeResult>& rates, std::uint32_t rung, std::uint32_t stride = 1) {
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates)
    if (r.axes.rung == rung && r.axes.stride == stride && r.cycle_rate.value > 0 &&
        (!best || r.axes.bytes > best->axes.bytes))
      best = &r;
  return best;
}

Estimate cycles_of(const ProbeResult& r) { return quotient({exactly(1)}, {r.cycle_rate}, "cycles", text_of(r.axes)); }

}  // namespace

void derive_banks(const ProbeSeries& series, DeviceParameters& into) {
  if (!asks(series.question, ProbeQuestion::bank_conflicts)) return;
  const auto rates = rates_of(series);
  const ProbeResult *const free = of_words(rates, in_any_bank_once), *const random = of_words(rates, at_random),
                           *const all = of_words(rates, in_steps, lanes_of_warp);
  const auto add = [&](const char* name, Estimate value, const char* meaning) {
    Parameter p = parameter(name, std::move(value), meaning);
    leave_unchecked(p, not_reported(into.device));
    into.parameters.push_back(std::move(p));
  };
  if (series.question.operation == Operation::read) {
    if (!free || !random) return into.missing.push_back("bank passes, random words: need rungs 2 and 3 of probe banks");
    Parameter p = parameter("bank passes, random words",
                            quotient({free->cycle_rate}, {random->cycle_rate}, "1",
                                     "cycles of random words / cycles without a conflict: " + text_of(random->axes)),
                            "passes of shared memory that a warp's load of random words takes");
    hold_against(p, expected_random_passes(static_cast<unsigned>(random->axes.bytes / bytes_of_pattern)),
                 "the largest of 32 bins that get 32 balls", for_drawn);
    into.parameters.push_back(std::move(p));
    return;
  }
  if (free) add("bank latency", cycles_of(*free), "a load of a warp with each lane in a bank of its own");
  if (random)
    add("bank latency, random words", cycles_of(*random), "a load of a warp with a random word for each lane");
  if (!free || !all)
    return into.missing.push_back("bank conflict cycles: need rung 2, and rung 1 with stride 32, of probe banks");
  const Estimate without = cycles_of(*free), with = cycles_of(*all);
  constexpr double more = lanes_of_warp - 1;
  add("bank conflict cycles",
      {(with.value - without.value) / more, (with.low - without.high) / more, (with.high - without.low) / more,
       "cycles", "(cycles with 32 lanes in one bank - cycles without a conflict) / 31"},
      "what each lane more in a bank adds to a load that is waited for");
}

// What pages that move between host and device cost:
//
//   page fault of the device        time of a load where each touches another page of the host's memory, farthest apart
//   migration by faults             rate of reads of the largest set on the host
//   prefetch to device, to host     rate at the largest set
//   migration by faults of the host rate of the host's reads of the largest set on the device
//   managed memory in place         rate of reads of what stays on the host

namespace {

// The rate with these pages whose stride, or set, is largest.
const ProbeResult* largest(const std::vector<ProbeResult>& rates, Pages pages) {
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates) {
    if (r.axes.pages != pages || !(r.rate.value > 0)) continue;
    if (!best || std::pair(r.axes.stride, r.axes.bytes) > std::pair(best->axes.stride, best->axes.bytes)) best = &r;
  }
  return best;
}

struct Wanted {
  Operation operation;
  Pages pages;
  const char *name, *meaning;
};
constexpr Wanted rates_wanted[] = {
    {Operation::read, Pages::host, "B migrated by faults",
     "bytes that a device's reads move from the host, page by page"},
    {Operation::read, Pages::in_place, "B managed in place",
     "bytes that a device reads of pages that stay on the host"},
    {Operation::prefetch, Pages::host, "B prefetched to device", "bytes that a prefetch moves to the device"},
    {Operation::prefetch, Pages::device, "B prefetched to host", "bytes that a prefetch moves to the host"},
    {Operation::host_read, Pages::device, "B migrated by the host's faults",
     "bytes that the host's reads move from the device, page by page"}};

}  // namespace

void derive_migration(const ProbeSeries& series, DeviceParameters& into) {
  const ProbeCase& c = series.question;
  if (!asks(c, ProbeQuestion::migration) || c.space != Space::managed) return;
  const auto rates = rates_of(series);
  const auto add = [&](const char* name, Estimate value, const char* meaning, const Shape& at) {
    value.method += ": " + text_of(at);
    Parameter p = parameter(name, std::move(value), meaning);
    leave_unchecked(p, not_reported(into.device));
    into.parameters.push_back(std::move(p));
  };
  for (const Wanted& wanted : rates_wanted) {
    if (wanted.operation != c.operation) continue;
    const ProbeResult* const found = largest(rates, wanted.pages);
    if (!found) {
      into.missing.push_back(std::string(wanted.name) + ": no usable shape in " + title(c));
      continue;
    }
    Estimate rate = found->rate;
    rate.unit = "bytes per second";
    rate.method = "bytes / time";
    add(wanted.name, rate, wanted.meaning, found->axes);
  }
  if (c.operation != Operation::chase) return;
  const ProbeResult* const found = largest(rates, Pages::host);
  if (!found) return into.missing.push_back("page fault: no usable shape in " + title(c));
  Estimate fault = quotient({exactly(1e9)}, {found->rate}, "ns", "time of a load that touches a page of the host");
  add("page fault", fault, "a load that finds its page on the host, and waits until it has come", found->axes);
}

// What a probe's description names: rates of a unit, such as bandwidths of its own memories and of L2; banks, sectors
// and lines, which show in the law; and how far the rungs of a ladder come.

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
