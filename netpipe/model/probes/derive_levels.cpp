// Levels of memory as parameters: "L1 size", "L1 latency" (ns), "L1 cycles", ... and what lies behind the last of them.
//
// Where a GPU was also chased by atomics, those give its "L2 size". The loads of one multiprocessor give "L2 near
// size": they find copies of far lines in the near partition, until that is full. Larger sets are answered by the far
// partition ("L2 far"), until all of L2 is full.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/levels.hpp"
#include "netpipe/model/probes/probe_rates.hpp"

namespace npgpu::model {

namespace {

constexpr double for_sizes = 0.15;
constexpr double beyond = 2;          // sets so many times the last cache are answered by memory
constexpr double slow_octaves = 1;    // a rise over more is no step
constexpr double unsteady = 0.05;     // of a point's interval, either way
constexpr double parts_apart = 1.15;  // latencies of two parts of L2

std::vector<LoadTime> load_times(const ProbeSeries& series) {
  std::vector<LoadTime> points;
  for (const ProbeResult& r : rates_of(series)) {
    LoadTime& p = points.emplace_back();
    p.bytes = r.axes.bytes;
    p.ns = quotient({exactly(1e9)}, {r.rate}, "ns", {});
    p.cycles = quotient({exactly(1)}, {r.cycle_rate}, "cycles", {});
  }
  return points;
}

struct Own {
  double bytes = not_measured;
  std::string source;
};

// What was reported of the device's levels, the nearest first.
std::vector<Own> own_levels(const ProbeSeries& series, const OwnFacts& facts) {
  if (series.question.space == Space::constant) return {};  // no interface reports the caches of constants
  const Layout& l = series.layout;
  std::vector<Own> own;
  if (has_cores(series)) {
    const auto add = [&](double bytes, const char* source) {
      if (bytes > 0) own.push_back({bytes, source});
    };
    const bool listed = facts.l1d_bytes > 0;
    add(listed ? facts.l1d_bytes : static_cast<double>(l.near_cache_bytes), "the core's first level");
    if (listed) add(facts.l2_bytes, "l2_bytes of the host's facts");
    add(listed ? facts.l3_bytes : static_cast<double>(l.cache_bytes), "the last level");
    return own;
  }
  if (series.question.operation == Operation::chase)
    own.push_back({static_cast<double>(l.near_cache_bytes),
                   l.near_cache_bytes ? "a multiprocessor's memory, of which shared memory takes a part"
                                      : "the size of a multiprocessor's memory is not known"});
  own.push_back({facts.l2_bytes > 0 ? facts.l2_bytes : static_cast<double>(l.cache_bytes), "the device's L2"});
  return own;
}

class Levels {
 public:
  Levels(const ProbeSeries& series, const OwnFacts& facts, DeviceParameters& into)
      : series_(series), facts_(facts), into_(into), points_(load_times(series)), own_(own_levels(series, facts)) {
    if (series.question.space == Space::constant) prefix_ = "constant ";
  }

  void add_all() {
    const std::vector<Level> levels = levels_of(points_, by_loads_of_one() ? std::optional(parts_apart) : std::nullopt);
    if (levels.empty())
      return miss("levels: " + title(series_.question) +
                  (points_.size() < 3 ? " has too few points" : ": no latency stays over half an octave"));
    if (series_.question.space == Space::shared) return add_latency("shared", levels.front());
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) add_level(i, levels[i], levels[i + 1]);
    add_last(levels);
    if (levels.size() == 1) miss(prefix_ + "levels: the latency has no step in " + title(series_.question));
  }

 private:
  // They work in L2, where the line lives: no level before it answers, and no copy in a nearer part of it.
  bool by_atomics() const { return series_.question.operation == Operation::rmw; }

  // Of one multiprocessor, where atomics give the size of all of L2.
  bool by_loads_of_one() const {
    return facts_.chased_by_atomics && !by_atomics() && series_.question.space == Space::global;
  }

  void miss(std::string why) { into_.missing.push_back(std::move(why)); }

  std::string name_of(std::size_t i) const {
    if (by_atomics()) return i == 0 ? "L2" : fmt::format("L2 part {}", i + 1);
    if (by_loads_of_one() && (i == 1 || i == 2)) return i == 1 ? "L2 near" : "L2 far";
    // NVIDIA's name for the second cache of constants, which lies between a multiprocessor's first and the device's L2.
    if (series_.question.space == Space::constant && i > 0) return prefix_ + (i == 1 ? "L1.5" : "L2");
    return prefix_ + fmt::format("L{}", i + 1);
  }

  void add_latency(const std::string& name, const Level& level) {
    for (const auto& [what, estimate] : {std::pair{" latency", &level.ns}, std::pair{" cycles", &level.cycles}}) {
      if (!(estimate->value > 0)) continue;
      Parameter p = parameter(name + what, *estimate,
                              fmt::format("{} that waits for the one before, from sets of {} to {} bytes",
                                          by_atomics() ? "an atomic" : "a load", level.first_bytes, level.last_bytes));
      leave_unchecked(p, not_reported(into_.device));
      into_.parameters.push_back(std::move(p));
    }
  }

  void add_level(std::size_t i, const Level& level, const Level& next) {
    const bool near_part = name_of(i) == "L2 near", far_part = name_of(i) == "L2 far";
    Parameter p = parameter(
        name_of(i) + " size", level.bytes,
        near_part  ? "the set that one multiprocessor's loads find at L2's near latency: all of L2 where it is one, "
                     "the near partition where it is two"
        : far_part ? "the set that L2 answers to one multiprocessor's loads, with its far partition"
                   : "the set that this level still answers",
        unrest(level, next));
    if (near_part || far_part)
      leave_unchecked(p, "how L2 is divided is " + not_reported(into_.device) + "; all of it is L2 size");
    else if (i < own_.size()) hold_against(p, own_[i].bytes, own_[i].source, for_sizes);
    else leave_unchecked(p, not_reported(into_.device));
    // What is reported to a virtual machine is the whole machine's; what it gets depends on its neighbours.
    const bool last = i + 1 == own_.size();
    if (last && facts_.in_virtual_machine && p.estimate.value < p.reference) {
      p.verdict = Agreement::undecided;
      add_note(p.note, "a virtual machine shares its last level with others, or has a part of it only");
    }
    add_latency(name_of(i) + (by_atomics() ? " atomic" : ""), level);
    into_.parameters.insert(into_.parameters.end() - (level.cycles.value > 0 ? 2 : 1), std::move(p));
  }

  // Its plateau is memory's if it lies far beyond the last cache; otherwise the series ended too early.
  void add_last(const std::vector<Level>& levels) {
    const Level& last = levels.back();
    const double cache = own_.empty() ? not_measured : own_.back().bytes;
    if (series_.question.space == Space::constant) return add_latency(name_of(levels.size() - 1), last);
    if (!(static_cast<double>(last.last_bytes) < beyond * cache)) {
      add_latency(by_atomics() ? "memory atomic" : "memory", last);
      for (std::size_t i = levels.size() - 1; i < own_.size(); ++i)
        if (own_[i].bytes > 0) miss(name_of(i) + " size: no step of the latency tells it from its neighbours");
      return;
    }
    add_latency(name_of(levels.size() - 1), last);
    miss(fmt::format("{} size and memory latency: need sets far beyond {} bytes", name_of(levels.size() - 1),
                     last.last_bytes));
  }

  std::string unrest(const Level& level, const Level& next) const {
    std::string note;
    if (level.rise_octaves > slow_octaves)
      note = fmt::format("the latency rises over {:.1f} octaves: a cache that is shared, or replaces at random",
                         level.rise_octaves);
    std::size_t among = 0, unsteady_ones = 0;
    for (const LoadTime& p : points_) {
      if (p.bytes <= level.last_bytes || p.bytes >= next.first_bytes) continue;
      ++among;
      unsteady_ones += (p.ns.high - p.ns.low) / 2 > unsteady * p.ns.value;
    }
    if (unsteady_ones > 0)
      add_note(note, fmt::format("unstable: {} of {} points on the way to the next level differ by more than {:g} % "
                                 "from trial to trial",
                                 unsteady_ones, among, 100 * unsteady));
    return note;
  }

  const ProbeSeries& series_;
  const OwnFacts& facts_;
  DeviceParameters& into_;
  std::vector<LoadTime> points_;
  std::vector<Own> own_;
  std::string prefix_;
};

}  // namespace

void derive_levels(const ProbeSeries& series, const OwnFacts& facts, DeviceParameters& into) {
  Levels(series, facts, into).add_all();
}

}  // namespace npgpu::model
