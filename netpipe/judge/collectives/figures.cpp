#include "npgpu/model/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/collectives/health.hpp"
#include "netpipe/judge/judge.hpp"
#include "netpipe/judge/matrix/findings.hpp"
#include "netpipe/judge/matrix/rulings.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/model/compare.hpp"

namespace npgpu {

namespace {

double each_of(double us, std::uint64_t repeats) {
  return repeats > 0 && us > 0 ? us / static_cast<double>(repeats) : not_measured;
}

// The operation's time, trial by trial: of the GPU that took longest, or the host's.
ByVisit collective_times(const CollectiveSeries& series, const CollectivePoint& point) {
  ByVisit all;
  for (const VisitInfo* visit : point.counted())
    all.push_back(trial_times<Collectives>(series.question, samples_of(series, *visit)));
  return all;
}

Estimate bus_rate_of(Estimate e, double factor) {
  for (double* one : {&e.value, &e.low, &e.high}) *one *= factor;
  return e;
}

// The same in all samples that have one; -1 else.
std::int32_t always(const CollectiveSeries& series, const CollectivePoint& point,
                    std::int32_t CollectiveSample::*code) {
  std::int32_t found = -1;
  for (const VisitInfo* visit : point.visits)
    for (const CollectiveSample& s : samples_of(series, *visit)) {
      if (s.*code < 0) continue;
      if (found >= 0 && s.*code != found) return -1;
      found = s.*code;
    }
  return found;
}

CollectiveResult result_of_size(const CollectiveSeries& series, const CollectivePoint& point) {
  CollectiveResult r = model::result_of(point);
  r.trials = trials_of(series, point);
  for (const VisitInfo* visit : point.visits)
    for (const CollectiveSample& s : samples_of(series, *visit))
      if (s.intact == 0 && std::ranges::find(r.wrong_lanes, s.lane) == r.wrong_lanes.end())
        r.wrong_lanes.push_back(s.lane);
  std::ranges::sort(r.wrong_lanes);
  if (!r.wrong_lanes.empty()) {
    const auto gpus = devices_of(series.question);
    std::string wrong;
    for (const std::uint32_t lane : r.wrong_lanes)
      wrong += (wrong.empty() ? "" : ", ") + (lane < gpus.size() ? gpus[lane] : "?");
    model::set_wrong(r, "the results were wrong on " + wrong);
    return r;
  }
  const ByVisit us = collective_times(series, point);
  model::set_times(r, us, series);
  // What drifts within a run is in its own visits alone: of two points of the same time one waits for launches, and the
  // other for links. What differs from run to run comes besides.
  r.time_us = median_over_visits(us, "us");
  if (!series.simulated) r.time_us = with_drift(r.time_us, run_to_run(class_of(series.question)).at(r.time_us.value));
  r.unsteady = half_width(r.time_us) > least_unsteady;
  if (!r.is_timed) {
    r.why = "no usable trial";
    return r;
  }
  const auto rate = [&](double time) { return time > 0 ? r.work / time * 1e6 : not_measured; };
  r.rate = {rate(r.time_us.value), rate(r.time_us.high), rate(r.time_us.low), "bytes per second", r.time_us.method};
  r.bus_rate = bus_rate_of(r.rate, bus_factor(series.question));
  r.host_us = median_over_visits(
      values_of(series, point,
                [](const CollectiveSample& s) { return s.lane == 0 ? each_of(s.host_us, s.repeats) : not_measured; }),
      "us");
  r.algorithm = always(series, point, &CollectiveSample::algorithm);
  r.protocol = always(series, point, &CollectiveSample::protocol);
  r.channels = always(series, point, &CollectiveSample::channels);
  r.path = always(series, point, &CollectiveSample::path);
  for (std::uint32_t lane = 0; lane < devices_of(series.question).size(); ++lane) {
    const auto own = model::all_of(values_of(series, point, [&](const CollectiveSample& s) {
      return s.lane == lane ? each_of(s.device_us, s.repeats) : not_measured;
    }));
    r.lanes_us.push_back(own.empty() ? not_measured : median(own));
  }
  return r;
}

// ---- what the links allow ----------------------------------------------------------------------------------------

struct Lanes {
  std::vector<MatrixCell> ring{}, pairs{}, from_root{}, to_root{};
};

bool is_among(const MatrixCell& cell, const std::vector<std::string>& gpus) {
  return std::ranges::count(gpus, cell.source) > 0 && std::ranges::count(gpus, cell.target) > 0;
}

// Copies by kernels, as NCCL's are; of the same GPUs.
Lanes lanes_at_once(const NodeMatrix& node, const std::vector<std::string>& gpus) {
  Lanes all;
  const std::size_t n = gpus.size();
  const auto are_all = [&](const LanesTogether& set, std::size_t lanes) {
    return set.lanes.size() == lanes &&
           std::ranges::all_of(set.lanes, [&](const auto& c) { return is_among(c, gpus); });
  };
  for (const LanesTogether& set : node.together) {
    if (set.executor != Executor::sm_kernel || set.access != Access::write) continue;
    if (set.name == "ring" && are_all(set, n)) all.ring = set.lanes;
    if (set.name == "all to all" && are_all(set, n * (n - 1))) all.pairs = set.lanes;
    if (set.name.starts_with("one to all") && are_all(set, n - 1) && set.lanes.front().source == gpus.front())
      all.from_root = set.lanes;
    if (set.name.starts_with("all to one") && are_all(set, n - 1) && set.lanes.front().target == gpus.front())
      all.to_root = set.lanes;
  }
  if (n == 2)
    for (const RateMatrix& one : node.matrices)
      if (one.both_ways && one.executor == Executor::sm_kernel && one.access == Access::write)
        for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}})
          if (const MatrixCell* const cell =
                  one.find(gpus[static_cast<std::size_t>(from)], gpus[static_cast<std::size_t>(to)])) {
            all.ring.push_back(*cell);
            all.pairs.push_back(*cell);
            (from == 0 ? all.from_root : all.to_root).push_back(*cell);
          }
  return all;
}

double slowest_lane(const std::vector<MatrixCell>& lanes) {
  double least = not_measured;
  for (const MatrixCell& cell : lanes) least = std::fmin(least, cell.value.value);
  return least;
}
double sum_of(const std::vector<MatrixCell>& lanes) {
  double sum = 0;
  for (const MatrixCell& cell : lanes) sum += cell.value.value;
  return lanes.empty() ? not_measured : sum;
}

// What each GPU sends and gets where all pairs copy at once; of the GPU with the least.
double least_of_a_gpu(const std::vector<MatrixCell>& pairs) {
  std::map<std::string, double> out, in;
  for (const MatrixCell& cell : pairs) {
    out[cell.source] += cell.value.value;
    in[cell.target] += cell.value.value;
  }
  double least = not_measured;
  for (const auto* each : {&out, &in})
    for (const auto& [gpu, rate] : *each) least = std::fmin(least, rate);
  return least;
}

// The share of a ring's bus bandwidth that two binary trees reach, which carry half of the bytes each, as NCCL's do
// (Sanders, Speck and Traeff 2009): a GPU that is inside of one and a leaf of the other gets 2S, where a ring's get
// 2S(n-1)/n. The GPUs of two or three are roots or leaves, which get S and 3S/2.
double share_of_trees(std::size_t gpus) {
  constexpr double of_root_and_leaf = 1.5, of_inner_and_leaf = 2;
  const double n = static_cast<double>(gpus);
  if (gpus == 2) return 1;
  return 2 * (n - 1) / n / (gpus == 3 ? of_root_and_leaf : of_inner_and_leaf);
}

void set_limit(CollectiveFigure& f, const Lanes& lanes, std::size_t gpus) {
  const auto set = [&](double rate, const char* source) {
    if (!(rate > 0) || f.limit >= rate) return;
    f.limit = rate;
    f.limit_source = source;
  };
  const char* const of_ring = gpus == 2 ? "copies both ways at once" : "the slowest copy of a ring of copies at once";
  switch (f.question.operation) {
    case CollectiveOperation::all_to_all:
      set(static_cast<double>(gpus - 1) * slowest_lane(lanes.pairs),
          gpus == 2 ? of_ring : "the slowest of copies between all pairs at once");
      // More than its links carry to and from all others no GPU can send and get.
      if (lanes.pairs.empty())
        set(std::fmin(sum_of(lanes.from_root), sum_of(lanes.to_root)),
            "the first GPU's copies to all others, or from them, at once");
      break;
    case CollectiveOperation::gather: set(sum_of(lanes.to_root), "copies from all to the root at once"); break;
    case CollectiveOperation::scatter: set(sum_of(lanes.from_root), "copies from the root to all at once"); break;
    case CollectiveOperation::send_receive: set(slowest_lane(lanes.ring), of_ring); break;
    default:
      set(slowest_lane(lanes.ring), of_ring);
      // Where each pair has a link of its own, several rings have more than one.
      if (gpus > 2) set(least_of_a_gpu(lanes.pairs), "a GPU's copies to and from all others at once");
      break;
  }
  if (f.question.operation == CollectiveOperation::all_reduce) f.tree_limit = f.limit * share_of_trees(gpus);
  if (std::isnan(f.limit)) f.limit_source = "no copies between these GPUs at once are in the trace";
}

// ---- an operation ------------------------------------------------------------------------------------------------

void set_curve(CollectiveFigure& f) {
  std::vector<const CollectiveResult*> usable;
  for (const CollectiveResult& r : f.points)
    if (r.usable() && r.bus_rate.value > 0) usable.push_back(&r);
  if (usable.empty()) return;
  f.smallest_us = usable.front()->time_us;
  for (const CollectiveResult* r : usable)
    if (!(f.best.value >= r->bus_rate.value)) f.best = r->bus_rate;
  const double half = f.best.value / 2;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    const double rate = usable[i]->bus_rate.value, bytes = static_cast<double>(usable[i]->axes.bytes);
    if (rate < half) continue;
    f.half_bytes = bytes;
    if (i == 0) break;
    const double before = usable[i - 1]->bus_rate.value;
    const double part = std::log(half / before) / std::log(rate / before);
    f.half_bytes = std::exp(std::lerp(std::log(static_cast<double>(usable[i - 1]->axes.bytes)), std::log(bytes), part));
    break;
  }
}

// What of the library's choice for the largest size keeps it from what the links allow.
std::string cause_of(const CollectiveFigure& f, const std::vector<std::string>& gpus, const model::Links& links) {
  constexpr std::int32_t p2p = 0;
  const CollectiveResult& largest = f.points.back();
  const bool has_nvlink = links.kind(gpus.at(0), gpus.at(1)).find("NVLink") != std::string::npos;
  if (largest.path > p2p && largest.path < static_cast<std::int32_t>(collective_paths.size()))
    return fmt::format("its bytes go by {}{}", collective_paths[static_cast<std::size_t>(largest.path)],
                       has_nvlink ? " although NVLinks join the GPUs" : ", and not from one GPU to the other");
  if (largest.channels == 1) return "it uses one channel only, and so one multiprocessor";
  if (largest.path == p2p && !has_nvlink) return "its bytes go over PCIe";
  return {};
}

void judge_operation(CollectiveFigure& f) {
  for (const CollectiveResult& r : f.points)
    if (r.is_wrong) {
      f.verdict = CheckVerdict::broken;
      f.why = r.why;
      return;
    }
  if (f.points.empty() || !f.points.back().usable()) {
    f.verdict = CheckVerdict::failed_to_run;
    f.why = f.error.empty() ? "its largest size has no figure" : f.error;
    return;
  }
  for (const CollectiveResult& r : f.points)
    if (!r.is_timed || (r.usable() && !model::is_figure(r.time_us.value))) {
      f.verdict = CheckVerdict::failed_to_run;
      f.why = fmt::format("no trial of {} has a valid time", size_text(r.axes.bytes));
      return;
    }
  const CollectiveResult& largest = f.points.back();
  f.share = largest.bus_rate.value / f.limit;
  if (std::isnan(f.share)) {
    f.why = f.limit_source;
    return;
  }
  if (const std::uint64_t least = least_judged_bytes(f.question.operation); largest.axes.bytes < least) {
    f.why = fmt::format("its largest size is below {}", size_text(least));
    return;
  }
  if (largest.causes & ~own_causes) {
    f.why = largest.disturbed;
    return;
  }
  switch (model::rule(largest.bus_rate, model::Allowed::at_least, least_collective_share * f.limit)) {
    case model::Ruling::ok: f.verdict = CheckVerdict::ok; break;
    case model::Ruling::slow:
      f.verdict = CheckVerdict::slow;
      f.why = fmt::format("it reaches {:.0f} % of what the links allow{}{}", 100 * f.share, f.cause.empty() ? "" : "; ",
                          f.cause);
      break;
    case model::Ruling::undecided: f.verdict = CheckVerdict::undecided; break;
    default: break;
  }
}

CheckVerdict worse_of_two(CheckVerdict a, CheckVerdict b) {
  for (const CheckVerdict one : {CheckVerdict::broken, CheckVerdict::failed_to_run, CheckVerdict::slow,
                                 CheckVerdict::undecided, CheckVerdict::ok})
    if (a == one || b == one) return one;
  return CheckVerdict::not_judged;
}

}  // namespace

std::vector<FigureChoice> Collectives::key_figures(const CollectiveCase& c, std::uint32_t) {
  const bool is_usual = c.launch == CollectiveLaunch::eager && !is_of_old_ways(c);
  if (c.operation != CollectiveOperation::all_reduce || c.in_place || !is_usual) return {};
  return {{fmt::format("{} {}, smallest", npgpu::name(c.operation), npgpu::name(c.type)), Among::smallest},
          {fmt::format("{} {}", npgpu::name(c.operation), npgpu::name(c.type))}};
}

std::vector<CollectiveResult> Collectives::results(const CollectiveSeries& series) {
  return model::of_each_point(series, result_of_size);
}

std::vector<CollectiveStudy> collective_studies(const Trace& trace, const NodeMatrix& node) {
  std::vector<CollectiveStudy> all;
  const model::Links links(trace);
  for (const CollectiveSeries& series : trace.of<Collectives>()) {
    if (is_of_old_ways(series.question)) continue;
    const auto gpus = devices_of(series.question);
    auto study = std::ranges::find(all, gpus, &CollectiveStudy::gpus);
    if (study == all.end()) {
      study = all.insert(all.end(), CollectiveStudy{});
      study->gpus = gpus;
      study->device_name = series.device_name;
      study->simulated = series.simulated;
    }
    if (study->library.empty()) study->library = series.library;
    CollectiveFigure& f = study->figures.emplace_back();
    f.question = series.question;
    f.error = series.error;
    f.points = results(series);
    const Lanes lanes = lanes_at_once(node, gpus);
    if (study->slow_links.empty()) study->slow_links = model::slow_links_of(lanes.ring, links);
    if (study->links_judged_by.empty()) study->links_judged_by = model::links_judged_by(lanes.ring, links);
    set_limit(f, lanes, gpus.size());
    set_curve(f);
    if (!f.points.empty()) f.cause = cause_of(f, gpus, links);
    judge_operation(f);
    study->verdict = worse_of_two(study->verdict, f.verdict);
  }
  const std::vector<NodeFinding> between_gpus =
      all.empty() ? std::vector<NodeFinding>() : model::findings_between_gpus(trace);
  for (CollectiveStudy& study : all) {
    std::ranges::move(model::blind_pairs(between_gpus, study.gpus), std::back_inserter(study.slow_links));
    sort_stably(study.slow_links, {}, &SlowLink::share);
    if (!study.slow_links.empty()) study.verdict = worse_of_two(study.verdict, CheckVerdict::slow);
  }
  return all;
}

std::optional<Estimate> time_of(const CollectiveFigure& f, std::uint64_t bytes) {
  const CollectiveResult *below = nullptr, *above = nullptr;
  for (const CollectiveResult& r : f.points) {
    if (!r.usable()) continue;
    if (r.axes.bytes <= bytes) below = &r;
    else if (!above) above = &r;
  }
  if (!below) return std::nullopt;
  const double wanted = static_cast<double>(bytes), from = static_cast<double>(below->axes.bytes);
  const double part = above ? (wanted - from) / (static_cast<double>(above->axes.bytes) - from) : 0;
  const auto of = [&](double Estimate::*bound) {
    if (!above) return below->time_us.*bound * wanted / from;
    return std::lerp(below->time_us.*bound, above->time_us.*bound, part);
  };
  return Estimate{
      of(&Estimate::value), of(&Estimate::low), of(&Estimate::high), "us",
      above ? "interpolated between the nearest measured sizes" : "at the rate of the largest measured size"};
}

}  // namespace npgpu
