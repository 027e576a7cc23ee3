#include "netpipe/judge/compare/curves.hpp"

#include <fmt/format.h>

#include "netpipe/judge/overview/parts.hpp"

namespace npgpu::model {

DeviceSlots device_slots(const Trace& trace) {
  DeviceSlots slots;
  std::map<std::string, int> met;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>())
      each_device(series.question, [&](const std::string& device) {
        if (slots.contains(device)) return;
        const std::string kind = device.substr(0, device.find(':'));  // "cuda" of "cuda:1"
        slots[device] = kind + '#' + std::to_string(met[kind]++);
      });
  });
  return slots;
}

std::vector<Run> runs_of(Runs a, Runs b) {
  std::vector<Run> runs;
  for (std::size_t side = 0; side < 2; ++side)
    for (std::size_t i = 0; i < (side ? b : a).size(); ++i) {
      const Trace* trace = (side ? b : a)[i];
      runs.push_back({trace, side, i, device_slots(*trace)});
    }
  return runs;
}

std::map<std::string, std::string> names_of_slots(const std::vector<Run>& runs) {
  std::map<std::string, std::string> names;
  for (const Run& run : runs)
    for (const auto& [device, slot] : run.slots) names.try_emplace(slot, device);
  return names;
}

namespace {

constexpr std::size_t most_groups = 7;  // of trials that stand in for rounds

// A point of one lane, while a curve is gathered.
template <class K> using Key = std::pair<typename K::Axes, std::uint32_t>;
template <class K> struct Gathered {
  std::map<Key<K>, CurvePoint> points;
  bool trials_stand_in = false, simulated = false;
  std::array<std::string, 2> stopped{};
  double cache_bytes = 0;
};

// The times of some visits as if they were all of the series.
template <class K> class Excerpt {
 public:
  explicit Excerpt(const Series<K>& of) : series_(of) {
    some_.question = of.question;
    static_cast<typename K::Context&>(some_) = of;
  }
  void add(const typename K::Axes& axes, const VisitInfo& visit, std::span<const typename K::Sample> samples) {
    Visit<K> part{visit, axes};
    part.first_sample = some_.samples.size();
    part.samples = static_cast<std::uint32_t>(samples.size());
    some_.visits.push_back(part);
    some_.samples.insert(some_.samples.end(), samples.begin(), samples.end());
    clock_[axes] = visit.telemetry.sm_clock_mhz;
  }
  void read_into(Gathered<K>& all, std::size_t side, std::size_t run, std::uint32_t round) const {
    for (const Result<K>& time : results(some_)) {
      const auto point = all.points.find({time.axes, time.lane});
      const double us = time.time_us.value;
      if (point == all.points.end() || !time.usable() || !(us > 0)) continue;
      const double more = point->second.work / time.work;
      point->second.side[side].all.push_back(
          {run, round, std::log(us) + (std::isfinite(more) ? std::log(more) : 0), std::log(clock_.at(time.axes))});
    }
  }

 private:
  const Series<K>& series_;
  Series<K> some_;
  std::map<typename K::Axes, double> clock_;
};

// Its trials in at most seven groups, in order of time; the samples of a trial stay together.
template <class Sample> std::vector<std::span<const Sample>> groups_of(std::span<const Sample> samples) {
  std::vector<std::size_t> begins;  // of the trials
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (i == 0 || samples[i].trial != samples[i - 1].trial) begins.push_back(i);
  const std::size_t trials = begins.size(), groups = std::min(most_groups, trials);
  begins.push_back(samples.size());
  std::vector<std::span<const Sample>> all;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t from = begins[g * trials / groups], to = begins[(g + 1) * trials / groups];
    all.push_back(samples.subspan(from, to - from));
  }
  return all;
}

Reason reason_of(bool wrong) { return wrong ? Reason::wrong_results : Reason::no_time; }

// What is to be said of each point: whether it is usable, what disturbed it.
template <class K> void state_points(Gathered<K>& all, const Series<K>& series, std::size_t side) {
  for (const Result<K>& time : results(series)) {
    CurvePoint& point = all.points[{time.axes, time.lane}];
    Readings& its = point.side[side];
    if (point.axes.empty()) {
      point.axes = text_of(time.axes);
      point.work = time.work;
    }
    ++its.runs;
    if (time.causes) {
      ++(time.causes & ~own_causes ? its.others : its.clocked);
      if (its.broken == Reason::none) its.why = time.disturbed;
    }
    if (time.usable() && time.time_us.value > 0) continue;
    its.broken = reason_of(time.is_wrong);
    its.why = time.usable() ? "times of " + (time.time_us.value < 0 ? std::string("less than 0") : "0") : time.why;
  }
}

template <class K> void gather(Gathered<K>& all, const Series<K>& series, std::size_t side, std::size_t run) {
  const auto points = points_of(series);
  state_points(all, series, side);
  all.simulated |= series.simulated;
  if (all.stopped[side].empty() && series.failure != Failure::wrong)  // such a series goes on
    all.stopped[side] = series.error.empty() && series.visits.empty() ? "never visited" : series.error;
  if constexpr (requires { series.layout.cache_bytes; })
    all.cache_bytes = static_cast<double>(series.layout.cache_bytes);
  std::size_t most = 0;
  for (const Point<K>& point : points) most = std::max(most, point.counted().size());
  all.trials_stand_in |= most == 1;
  std::map<std::uint32_t, Excerpt<K>> rounds;
  const auto round = [&](std::uint32_t number) -> Excerpt<K>& {
    return rounds.try_emplace(number, series).first->second;
  };
  for (const Point<K>& point : points)
    for (const VisitInfo* visit : point.counted()) {
      const auto samples = samples_of(series, *visit);
      if (most > 1) {
        round(visit->round).add(point.axes, *visit, samples);
        continue;
      }
      std::uint32_t group = 0;
      for (const auto trials : groups_of(samples)) round(group++).add(point.axes, *visit, trials);
    }
  for (const auto& [number, excerpt] : rounds) excerpt.read_into(all, side, run, number);
}

std::string lane_text(const TransferCase& c, std::uint32_t lane) {
  const auto all = lanes(c);
  if (lane >= all.size()) return fmt::format(", lane {}", lane);
  const Lane& its = all[lane];
  if (c.more_lanes.empty()) return fmt::format(", lane {} {}", lane, name(its.direction));
  return fmt::format(", lane {} {} to {}", lane, its.source, its.target);
}
std::string lane_text(const auto&, std::uint32_t lane) { return fmt::format(", lane {}", lane); }

// Latencies are no copies.
std::string short_name(const TransferCase& c) {
  const bool is_copy = c.pattern == Pattern::stream || c.pattern == Pattern::pingpong || c.pattern == Pattern::duplex;
  return (c.module == "cudaMemcpy" ? "" : c.module + ": ") + full_copy_name(c) + (is_copy ? " copies" : "");
}
std::string short_name(const auto& question) { return title(question); }

// Ways to do the same are no sizes or shapes: each has a curve of its own.
std::uint32_t way_of(const auto& axes) {
  if constexpr (requires { axes.way; }) return static_cast<std::uint32_t>(axes.way);
  return 0;
}
std::string way_text(const auto& axes) {
  if constexpr (requires { axes.way; }) return fmt::format(", by {}", name(axes.way));
  return "";
}

// Lane by lane, and way by way.
template <class K>
void add_curves(std::vector<CaseCurve>& all, const typename K::Case& question, const Gathered<K>& gathered,
                const std::array<std::size_t, 2>& runs) {
  using LaneAndWay = std::pair<std::uint32_t, std::uint32_t>;
  std::map<LaneAndWay, CaseCurve> curves;
  std::map<std::uint32_t, std::string> ways;
  std::set<std::uint32_t> all_lanes;
  for (const auto& [key, point] : gathered.points) {
    const auto& [axes, lane] = key;
    const std::uint32_t way = way_of(axes);
    CaseCurve& curve = curves[{lane, way}];
    curve.points.push_back(point);
    curve.sizes.push_back(size_of(axes));
    curve.blocks.push_back(blocks_of_axes(axes));
    ways[way] = way_text(axes);
    all_lanes.insert(lane);
  }
  for (auto& [which, curve] : curves) {
    const auto& [lane, way] = which;
    curve.kind = K::name;
    const std::string of_curve = (all_lanes.size() > 1 ? lane_text(question, lane) : "") + ways[way];
    curve.title = title(question) + of_curve;
    curve.name = short_name(question) + of_curve;
    curve.lane = lane;
    curve.time_class = class_of(question);
    curve.trials_stand_in = gathered.trials_stand_in;
    curve.simulated = gathered.simulated;
    curve.runs = runs;
    curve.stopped = gathered.stopped;
    curve.cache_bytes = gathered.cache_bytes;
    curve.figures = K::key_figures(question, lane);
    all.push_back(std::move(curve));
  }
}

}  // namespace

std::vector<CaseCurve> curves_of(Runs a, Runs b) {
  const std::vector<Run> runs = runs_of(a, b);
  const auto names = names_of_slots(runs);
  std::vector<CaseCurve> all;
  for_each_kind([&]<class K>() {
    if constexpr (K::is_compared)
      for (const Question<K>& question : questions_of<K>(runs)) {
        Gathered<K> gathered;
        for (const auto& [side, run, series] : question.answers) gather(gathered, *series, side, run);
        add_curves<K>(all, renamed(question.in_slots, names), gathered, {a.size(), b.size()});
      }
  });
  return all;
}

}  // namespace npgpu::model
