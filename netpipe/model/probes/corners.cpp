// The four corners of a case, and the parameters of Perez & Piccoli 2011, which are quotients of them. What their text
// says of T_delay (One-All over One-One) does not give their table; All-One over One-One does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "netpipe/model/kernels/kernel_figures.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu {

namespace model {

namespace {

constexpr double clearly_faster = 1.03;
constexpr std::uint32_t word_bytes = 4;

// Its points; where there is memory to touch, those of large sets.
std::vector<const ProbeResult*> points_at(std::span<const ProbeResult> rates, Corner corner, std::uint32_t units) {
  std::uint64_t largest = 0;
  for (const ProbeResult& r : rates) largest = std::max(largest, r.axes.bytes);
  const bool one_block = corner == Corner::one_all || corner == Corner::one_one;
  const bool alone = corner == Corner::all_one || corner == Corner::one_one;
  std::vector<const ProbeResult*> points;
  for (const ProbeResult& r : rates) {
    const Shape& s = r.axes;
    const bool all_units = units > 0 ? s.blocks >= units : s.blocks > 1;
    if ((one_block ? s.blocks == 1 : all_units) && (alone ? s.threads == 1 && s.ilp == 1 : s.threads > 1) &&
        s.bytes >= largest / 2)
      points.push_back(&r);
  }
  return points;
}

}  // namespace

const ProbeResult* corner_point(std::span<const ProbeResult> rates, Corner corner, Per per, std::uint32_t units) {
  const auto value = [&](const ProbeResult& r) { return per == Per::second ? r.rate.value : r.cycle_rate.value; };
  const ProbeResult* best = nullptr;
  for (const ProbeResult* r : points_at(rates, corner, units))
    if (value(*r) > (best ? value(*best) : 0)) best = r;
  return best;
}

std::string doubts_of(const Corners& corners, std::initializer_list<Corner> used) {
  std::string text;
  for (const Corner corner : used) {
    const auto i = static_cast<std::size_t>(corner);
    const auto add = [&](const std::string& what) { add_note(text, fmt::format("{}: {}", name(corner), what)); };
    const Estimate& rate = corners.*per_second[i];
    if (!std::isfinite(rate.value)) add(rate.method.empty() ? "not measured" : rate.method);
    for (const std::string& doubt : corners.doubts[i]) add(doubt);
  }
  return text;
}

}  // namespace model

namespace {

using namespace model;

// A shape that was disturbed and would else have been faster than the one that stands for the corner: by its cycles,
// or for all that is known, where a host's trial has none.
const ProbeResult* disturbed_rival(const ProbeSeries& series, std::span<const ProbeResult> rates, Corner corner,
                                   const ProbeResult& best) {
  for (const ProbeResult* r : points_at(rates, corner, series.layout.units)) {
    if (r == &best || r->doubts.empty()) continue;
    if (r->cycle_rate.value > clearly_faster * best.cycle_rate.value) return r;
    if (is_host(series) && !(r->cycle_rate.value > 0)) return r;
  }
  return nullptr;
}

// "fastest of its shapes, 264 blocks of 512 threads, ilp 4; median of 9 trials"
Estimate described(Estimate e, const Shape& shape, std::string unit) {
  e.unit = std::move(unit);
  std::string text =
      fmt::format("fastest of its shapes, {} blocks of {} threads, ilp {}", shape.blocks, shape.threads, shape.ilp);
  if (shape.access_bytes > 0) text += fmt::format(", {} B an access", shape.access_bytes);
  e.method = text + "; " + e.method;
  return e;
}

Parameter of_corners(const Corners& corners, std::string name, Estimate estimate, std::string meaning,
                     std::initializer_list<Corner> used) {
  Parameter p = parameter(std::move(name), std::move(estimate), std::move(meaning), doubts_of(corners, used));
  p.reference_source = "not reported with the rates";
  return p;
}

// Blocks divide evenly among the multiprocessors that the driver reports. Among fewer they do not, and some wait for
// the busiest: how many times faster the blocks of a shape would go if they did, by the time that the model gives them.
class EvenBlocks {
 public:
  explicit EvenBlocks(const ProbeSeries& series) : type_(series.question.type) {
    if (counts_operations(series.question) && series.question.space == Space::registers && !has_cores(series))
      device_ = kernel_figures({&series});
    is_uneven_ = !device_.warnings.empty() && device_.at("shader_clock_mhz") > 0;
  }
  Estimate operator()(Estimate rate, const Shape& shape) const {
    if (!is_uneven_ || shape.blocks == 1) return rate;
    KernelCounts counts{
        .flops = 1, .type = type_, .blocks = shape.blocks, .threads = shape.threads, .in_flight = shape.ilp};
    try {
      const auto of_block = [&](std::uint64_t blocks) {
        counts.blocks = blocks;
        counts.flops = 1e6 * static_cast<double>(blocks);
        return likely_time(device_, counts).count() / static_cast<double>(blocks);
      };
      const double faster = of_block(shape.blocks) / of_block(time_of_kernel(device_, counts).slots);
      for (double* value : {&rate.value, &rate.low, &rate.high}) *value *= faster;
      rate.method += fmt::format(", times {:.4g}: its blocks do not divide evenly among {:g} multiprocessors", faster,
                                 device_.at("sms"));
    } catch (const Error&) {  // a block that does not fit what the driver reports: the rate stays as it is
    }
    return rate;
  }

 private:
  DeviceModel device_;
  DataType type_;
  bool is_uneven_ = false;
};

constexpr auto aa = Corner::all_all, oa = Corner::one_all, ao = Corner::all_one, oo = Corner::one_one;

}  // namespace

Corners corners_of(const ProbeSeries& series) {
  const std::vector<ProbeResult> rates = rates_of(series);
  const std::string counted = counts_operations(series.question) ? "operations" : "bytes";
  const EvenBlocks evenly(series);
  Corners corners;
  for (const Corner corner : every_corner) {
    const auto i = static_cast<std::size_t>(corner);
    if (const ProbeResult* point = corner_point(rates, corner, Per::second, series.layout.units)) {
      corners.*per_second[i] = described(evenly(point->rate, point->axes), point->axes, counted + " per second");
      corners.doubts[i] = point->doubts;
      if (const ProbeResult* rival = disturbed_rival(series, rates, corner, *point))
        corners.doubts[i].push_back(fmt::format("a shape that may be faster (ilp {}) was disturbed: {}",
                                                rival->axes.ilp, rival->doubts.front()));
      if (point->axes.bytes > 0 && point->axes.bytes < 2 * series.layout.cache_bytes)
        corners.doubts[i].push_back("its working set is not far beyond the cache");
    } else {
      (corners.*per_second[i]).method = "no such point was measured";
    }
    if (const ProbeResult* point = corner_point(rates, corner, Per::cycle, series.layout.units))
      corners.*per_cycle[i] = described(evenly(point->cycle_rate, point->axes), point->axes, counted + " per cycle");
    else (corners.*per_cycle[i]).method = "no cycles of such a point were recorded";
  }
  return corners;
}

std::vector<Parameter> compute_parameters(const Corners& c) {
  std::vector<Parameter> all;
  const auto add = [&](Estimate Corners::*const(&rates)[4], const std::string& suffix) {
    const auto rate = [&](Corner corner) { return c.*rates[static_cast<std::size_t>(corner)]; };
    if (!std::isfinite(rate(aa).value * rate(oa).value * rate(ao).value * rate(oo).value) && !suffix.empty()) return;
    all.push_back(of_corners(c, "SM" + suffix, quotient({rate(aa)}, {rate(oa)}, "units", "Cp_AA / Cp_OA"),
                             "how many units compute at once: multiprocessors, or cores", {aa, oa}));
    all.push_back(of_corners(
        c, "N_PPipe" + suffix, quotient({rate(aa)}, {rate(ao)}, "threads", "Cp_AA / Cp_AO"),
        "lanes of one instruction; times w* / cap where a unit holds fewer one-thread blocks (cap) than fill it (w*)",
        {aa, ao}));
    all.push_back(of_corners(
        c, "L_Pipe" + suffix,
        quotient({rate(ao), rate(oa)}, {rate(oo), rate(aa)}, "instructions", "Cp_AO * Cp_OA / (Cp_OO * Cp_AA)"),
        "one-thread blocks that a unit keeps in flight: min(w*, cap)", {aa, oa, ao, oo}));
  };
  add(per_second, "");
  // Where cycles were recorded at all: the clock of All-All may be lower than that of the others.
  add(per_cycle, " per cycle");
  return all;
}

std::vector<Parameter> bandwidth_parameters(const Corners& c) {
  return {of_corners(c, "N_MINBl", quotient({c.all_all}, {c.one_all}, "blocks", "B_AA / B_OA"),
                     "how many full blocks, each on its unit, fill the memory's bus", {aa, oa}),
          of_corners(c, "W_bus", quotient({c.all_all}, {c.all_one}, "threads", "B_AA / B_AO"),
                     "how much more full blocks move than as many one-thread blocks as the device holds", {aa, ao}),
          of_corners(c, "T_delay", quotient({c.all_one}, {c.one_one}, "blocks", "B_AO / B_OO"),
                     "one-thread blocks in flight on the whole device; a count, no delay", {ao, oo})};
}

}  // namespace npgpu

namespace npgpu::model {

namespace {

// The faster of two, with its doubts.
void take_faster(Corners& into, const Corners& other, Corner corner) {
  const auto i = static_cast<std::size_t>(corner);
  Estimate& mine = into.*per_second[i];
  const Estimate& theirs = other.*per_second[i];
  if (mine.value >= theirs.value || !std::isfinite(theirs.value)) return;
  mine = theirs;
  into.doubts[i] = other.doubts[i];
}

std::string joined(const std::vector<std::string>& doubts) { return fmt::format("{}", fmt::join(doubts, "; ")); }

void add_rate(const Corners& corners, const Limit& limit, const std::string& name, DeviceParameters& into) {
  for (Parameter& p : rate_and_part(
           parameter(name, corners.all_all, "bytes per second of the whole device's memory, as the case counts them",
                     joined(corners.doubts[0])),
           limit.per_s, limit.source, name + " over its limit",
           "what part of the memory's limit the best shape reaches"))
    into.parameters.push_back(std::move(p));
}

// 8 B over One-One, where an access has 4 B: each is read and written before the next begins.
void add_latency(const ProbeSeries& dependent, const Corners& corners, DeviceParameters& into) {
  const auto rates = rates_of(dependent);
  const ProbeResult* at = corner_point(rates, Corner::one_one, Per::second, dependent.layout.units);
  if (!at || at->axes.access_bytes == 0) return;
  Parameter p = parameter(
      "rmw latency",
      quotient({exactly(2e9 * at->axes.access_bytes)}, {corners.one_one}, "ns", "bytes of a read and a write / B_OO"),
      "from one read-modify-write to the next that waits for it", joined(at->doubts));
  leave_unchecked(p, not_reported(into.device));
  into.parameters.push_back(std::move(p));
}

// N_MINBl, W_bus and T_delay of one form of the kernel, all four corners of which are its own.
void add_form(const ProbeSeries& series, const char* suffix, const char* form, DeviceParameters& into) {
  const Layout& l = series.layout;
  for (Parameter& p : bandwidth_parameters(corners_of(series))) {
    leave_unchecked(p, not_reported(into.device));
    if (p.name == "T_delay" && series.question.form == Form::dependent && l.units > 0 && l.max_blocks_per_unit > 0) {
      // What fits is a limit: blocks may get in each other's way before. One-One is the latency of the one unit that
      // ran it, All-One that of all, and units lie nearer to or farther from the memory: hence the room above.
      hold_below(p, static_cast<double>(l.units) * l.max_blocks_per_unit, "one-thread blocks that the device holds",
                 0.05);
    }
    p.name += suffix;
    p.meaning += form;
    into.parameters.push_back(std::move(p));
  }
}

}  // namespace

std::optional<ThreadPlateau> plateau_of(const ProbeSeries& series, Corner corner) {
  constexpr double reached = 0.97;
  const std::vector<ProbeResult> rates = rates_of(series);
  // One thread, too: there the rate is that of All-One or One-One.
  std::vector<const ProbeResult*> points = points_at(rates, corner, series.layout.units);
  std::ranges::copy(points_at(rates, corner == aa ? ao : oo, series.layout.units), std::back_inserter(points));
  std::map<std::uint32_t, const ProbeResult*> fastest;  // by threads
  for (const ProbeResult* r : points) {
    if (r->axes.ilp != 1 || r->axes.access_bytes > word_bytes || r->axes.one_block_per_sm) continue;
    const ProbeResult*& known = fastest[r->axes.threads];
    if (!known || r->rate.value > known->rate.value) known = r;
  }
  if (fastest.size() < 3) return std::nullopt;
  const auto by_rate = [](const auto& one) { return one.second->rate.value; };
  // One visit has no interval: its value stands for both ends.
  const auto low = [](const Estimate& e) { return std::isfinite(e.low) ? e.low : e.value; };
  const auto high = [](const Estimate& e) { return std::isfinite(e.high) ? e.high : e.value; };
  const Estimate best = std::ranges::max_element(fastest, {}, by_rate)->second->rate;
  const ProbeResult *below = nullptr, *first = nullptr, *surely = nullptr;
  std::string doubts;
  for (const auto& [threads, r] : fastest) {
    if (!first && high(r->rate) < reached * low(best)) below = r;
    if (!first && r->rate.value >= reached * best.value) first = r;
    if (first && !surely && low(r->rate) >= reached * high(best)) surely = r;
    for (const std::string& doubt : r->doubts)
      if (doubts.empty()) add_note(doubts, fmt::format("at {} threads: {}", threads, doubt));
  }
  const auto estimate = [&](auto count, std::string unit) {
    const double value = count(*first);
    return Estimate{value, below && below->axes.threads > 1 ? count(*below) : 1.0, surely ? count(*surely) : value,
                    std::move(unit),
                    fmt::format("first of {} numbers that reaches {:g} % of the best", fastest.size(), 100 * reached)};
  };
  const Layout& l = series.layout;
  const auto warps = [&](const ProbeResult& r) {
    const std::uint32_t lanes = std::max(l.lanes, 1u);
    const double of_block = std::ceil(static_cast<double>(r.axes.threads) / lanes);
    const double resident =
        std::min<double>(std::floor(l.max_threads_per_unit / (of_block * lanes)), std::max(l.max_blocks_per_unit, 1u));
    const double blocks = l.units > 0 ? std::ceil(static_cast<double>(r.axes.blocks) / l.units) : 1;
    return of_block * std::min(blocks, std::max(resident, 1.0));
  };
  return ThreadPlateau{estimate([](const ProbeResult& r) { return static_cast<double>(r.axes.threads); }, "threads"),
                       estimate(warps, "warps"), doubts};
}

void add_plateaus(const ProbeSeries& series, const std::string& rate, const std::string& suffix,
                  DeviceParameters& into) {
  if (has_cores(series)) return;  // their threads are lanes
  const auto add = [&](const std::string& name, const Estimate& estimate, const char* meaning,
                       const ThreadPlateau& of) {
    Parameter p = parameter(name + suffix, estimate, meaning, of.doubts);
    leave_unchecked(p, "a number of threads has no reference");
    into.parameters.push_back(std::move(p));
  };
  for (const Corner corner : {aa, oa}) {
    const std::optional<ThreadPlateau> plateau = plateau_of(series, corner);
    if (!plateau) continue;
    const std::string name = rate + (corner == aa ? "_AA" : "_OA");
    add(name + " threads", plateau->threads, "threads of a block from which the rate stays the same, at ilp 1",
        *plateau);
    if (corner == aa && series.layout.max_threads_per_unit > 0)
      add(name + " warps", plateau->warps, "warps of a unit from which the rate stays the same, at ilp 1", *plateau);
  }
}

void derive_rate(const ProbeSeries& series, const std::string& name, DeviceParameters& into) {
  add_rate(corners_of(series), series.limit, name, into);
}

void derive_bandwidth(const ProbeSeries* streaming, const ProbeSeries* dependent, DeviceParameters& into) {
  if (!streaming && !dependent) return;
  Corners corners = corners_of(dependent ? *dependent : *streaming);
  if (dependent && streaming) take_faster(corners, corners_of(*streaming), Corner::all_all);
  add_rate(corners, (streaming ? streaming : dependent)->limit, "B", into);
  // Perez & Piccoli move one word a thread, and a thread waits for each. With wide accesses, several of them in flight,
  // fewer blocks fill the bus.
  add_plateaus(dependent ? *dependent : *streaming, "B", "", into);
  if (dependent) {
    add_form(*dependent, "", ", where a thread waits for each word", into);
    add_latency(*dependent, corners, into);
  } else {
    into.missing.push_back("N_MINBl, W_bus, T_delay, rmw latency: need bandwidth rmw in its dependent form");
  }
  if (streaming) add_form(*streaming, " streaming", ", in the fastest shapes", into);
}

}  // namespace npgpu::model
