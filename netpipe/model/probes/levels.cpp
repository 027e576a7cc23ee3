#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

constexpr double plateau_rise = 1.25, level_rise = 1.30, min_octaves = 0.49;
constexpr std::size_t min_points = 3;

using Values = std::vector<double>;

Values medians_of_three(const Values& v) {
  Values out = v;
  for (std::size_t i = 1; i + 1 < v.size(); ++i) out[i] = median(std::vector{v[i - 1], v[i], v[i + 1]});
  return out;
}

// Least squares under the condition that no value is below the one before (Ayer et al. 1955).
Values never_falling(const Values& v) {
  struct Pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const double value : v) {
    pools.push_back({value, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  Values out;
  for (const Pool& pool : pools) out.insert(out.end(), pool.count, pool.mean());
  return out;
}

struct Plateau {
  std::size_t first = 0, last = 0;  // both in it
};

class Curve {
 public:
  explicit Curve(const std::vector<LoadTime>& points) : points_(points) {
    in_cycles_ = std::all_of(points.begin(), points.end(), [](const LoadTime& p) { return p.cycles.value > 0; });
    Values lows, highs;
    for (const LoadTime& p : points) {
      const Estimate& e = in_cycles_ ? p.cycles : p.ns;
      octaves_.push_back(std::log2(static_cast<double>(p.bytes)));
      y_.push_back(std::log(e.value));
      lows.push_back(e.low > 0 ? std::log(e.low) : y_.back());
      highs.push_back(e.high > 0 ? std::log(e.high) : y_.back());
    }
    y_ = never_falling(medians_of_three(y_));
    low_ = never_falling(medians_of_three(lows));
    high_ = never_falling(medians_of_three(highs));
  }

  std::vector<Plateau> plateaus(std::optional<double> apart) const {
    std::vector<Plateau> found;
    search(0, y_.size(), found);
    std::sort(found.begin(), found.end(), [](const Plateau& a, const Plateau& b) { return a.first < b.first; });
    std::vector<Plateau> levels;
    for (Plateau run : found) {
      if (levels.empty() || y_[run.first] - y_[levels.back().last] >= std::log(level_rise)) {
        levels.push_back(run);
      } else if (const double before = middle_of(levels.back()), own = middle_of(run);
                 apart && own - before >= std::log(*apart)) {
        while (y_[run.first] < (before + own) / 2) ++run.first;
        levels.push_back(run);
      } else {
        levels.back().last = run.last;
      }
    }
    return levels;
  }

  Level level(const Plateau& run) const {
    Level level;
    level.first_bytes = points_[run.first].bytes;
    level.last_bytes = points_[run.last].bytes;
    level.ns = middle(run, &LoadTime::ns, "ns");
    level.cycles = middle(run, &LoadTime::cycles, "cycles");
    return level;
  }

  // Where the curve goes from one level's latency to the next one's.
  void end(Level& level, const Level& next) const {
    const double from = in_cycles_ ? level.cycles.value : level.ns.value;
    const double rise = (in_cycles_ ? next.cycles.value : next.ns.value) - from;
    const auto where = [&](const Values& y, double part) { return crossing(y, std::log(from + part * rise)); };
    const auto value = where(y_, 0.5), early = where(high_, 0.5), late = where(low_, 0.5);
    level.bytes.unit = "bytes";
    level.bytes.method =
        "set of which the next level answers half of the loads: its latency half way up to the next one's";
    if (!value) return;
    level.bytes.value = std::exp2(value->octaves);
    level.bytes.low = static_cast<double>(points_[(early ? *early : *value).before].bytes);
    level.bytes.high = static_cast<double>(points_[(late ? *late : *value).before + 1].bytes);
    const auto quarter = where(y_, 0.25), three = where(y_, 0.75);
    if (quarter && three) level.rise_octaves = three->octaves - quarter->octaves;
  }

 private:
  double middle_of(const Plateau& run) const {
    return median(std::span(y_).subspan(run.first, run.last + 1 - run.first));
  }

  void search(std::size_t begin, std::size_t end, std::vector<Plateau>& found) const {
    Plateau best;
    double longest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = i + min_points - 1; j < end; ++j) {
        const double octaves = octaves_[j] - octaves_[i];
        if (octaves < min_octaves || octaves <= longest) continue;
        if (y_[j] - y_[i] > std::log(plateau_rise) * std::min(1.0, octaves)) continue;
        best = {i, j};
        longest = octaves;
      }
    }
    if (longest == 0) return;
    found.push_back(best);
    search(begin, best.first, found);
    search(best.last + 1, end, found);
  }

  Estimate middle(const Plateau& run, Estimate LoadTime::*which, const char* unit) const {
    Values values;
    double low = std::numeric_limits<double>::infinity(), high = 0;
    bool bounded = true;
    for (std::size_t i = run.first; i <= run.last; ++i) {
      const Estimate& e = points_[i].*which;
      if (!(e.value > 0)) continue;
      values.push_back(e.value);
      bounded = bounded && std::isfinite(e.low) && std::isfinite(e.high);
      low = std::min(low, e.low);
      high = std::max(high, e.high);
    }
    Estimate e;
    e.unit = unit;
    if (values.size() < min_points) return e;
    e.method = "median over the sets of its plateau";
    if (!set_median(e, values) && bounded) {
      e.low = low;
      e.high = high;
      e.method += ", which are too few for an interval of it: the bounds are those of all of them";
    }
    return e;
  }

  struct Crossing {
    std::size_t before;  // the last point under it
    double octaves;
  };
  std::optional<Crossing> crossing(const Values& y, double at) const {
    for (std::size_t i = 0; i + 1 < y.size(); ++i) {
      if (!(y[i] < at && y[i + 1] >= at)) continue;
      const double part = std::expm1(at - y[i]) / std::expm1(y[i + 1] - y[i]);  // straight in latency
      return Crossing{i, octaves_[i] + part * (octaves_[i + 1] - octaves_[i])};
    }
    return std::nullopt;
  }

  const std::vector<LoadTime>& points_;
  bool in_cycles_ = false;
  Values octaves_, y_, low_, high_;
};

}  // namespace

std::vector<Level> levels_of(std::vector<LoadTime> points, std::optional<double> apart) {
  std::erase_if(points, [](const LoadTime& p) { return !(p.ns.value > 0) || p.bytes == 0; });
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (points.size() < min_points) return {};
  const Curve curve(points);
  std::vector<Level> levels;
  for (const Plateau& run : curve.plateaus(apart)) levels.push_back(curve.level(run));
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) curve.end(levels[i], levels[i + 1]);
  return levels;
}

// Levels of memory as parameters: "L1 size", "L1 latency" (ns), "L1 cycles", ... and what lies behind the last of them.
//
// Where a GPU was also chased by atomics, those give its "L2 size". The loads of one multiprocessor give "L2 near
// size": they find copies of far lines in the near partition, until that is full. Larger sets are answered by the far
// partition ("L2 far"), until all of L2 is full.

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

  // Whether these are loads of one multiprocessor, where atomics give the size of all of L2.
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
