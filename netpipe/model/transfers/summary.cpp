#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/transfers/perturbed_sizes.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

namespace {

double trial_us(const TransferCase& c, const TransferSample& sample) {
  return c.timing == Timing::host ? sample.host_us : sample.device_us;
}

bool usable(double us, const TransferSample& sample) { return std::isfinite(us) && us >= 0 && sample.repeats > 0; }

double legs(const TransferCase& c) { return is_round_trip(c.pattern) ? 2 : 1; }

// `us`: one operation one way, one value a trial, by visit. `work`: bytes that one operation moved in all. A wrong
// payload voids the whole point.
TransferResult summarized(const TransferSeries& series, const TransferPoint& point, std::uint32_t lane,
                          const ByVisit& us, bool is_void, double work, double limit) {
  TransferResult r = model::result_of(point);
  r.lane = lane;
  r.work = work;
  r.rate.unit = "bytes per second";
  const std::vector<double> all = model::all_of(us);
  if (is_void || all.empty()) {
    r.why = r.time_us.method = r.rate.method = is_void ? "void: the payload arrived wrong" : "no usable trial";
    r.is_timed = false;
    r.is_wrong = is_void;
    return r;
  }
  r.trials = static_cast<std::uint32_t>(all.size());
  model::set_times(r, us, series);
  r.mean_us = model::mean_of(all);
  if (!(r.time_us.value > 0)) {
    r.rate.method = "none: the clock is too coarse for these times";
    return r;
  }
  const auto rate_of = [&](double t) { return work / (t * 1e-6); };
  r.rate.value = rate_of(r.time_us.value);
  r.rate.method = "bytes over the median time";
  if (r.time_us.low > 0) {
    r.rate.low = rate_of(r.time_us.high);
    r.rate.high = rate_of(r.time_us.low);
  }
  if (limit > 0) r.percent_of_limit = 100 * r.rate.value / limit;
  return r;
}

// The limit is that of a copy in the case's direction or the reverse one.
double limit_of_lane(const TransferSeries& series, const Lane& lane) {
  const Direction own = series.question.direction;
  return lane.direction == own || lane.direction == reversed(own) ? series.limit.per_s : not_measured;
}

// A link has its limit in each direction. A memory has one, whichever way the copies go.
double limit_of_sum(const TransferSeries& series, const std::vector<Lane>& measured) {
  const bool peers = std::ranges::all_of(measured, [](const Lane& l) { return l.direction == Direction::peer; });
  if (peers) {  // each device's links, out and in
    std::set<std::string> sources, targets;
    for (const Lane& lane : measured) {
      sources.insert(lane.source);
      targets.insert(lane.target);
    }
    return limit_of_lane(series, measured.front()) * static_cast<double>(std::min(sources.size(), targets.size()));
  }
  std::set<Lane> limits;
  for (Lane lane : measured) {
    if (std::isnan(limit_of_lane(series, lane))) return not_measured;
    const bool in_memory = lane.direction == Direction::d2d || lane.direction == Direction::h2h;
    if (in_memory) lane.target = lane.source;
    lane.executor = {};
    limits.insert(lane);
  }
  return series.limit.per_s * static_cast<double>(limits.size());
}

// One operation of one lane, one way.
TransferResult of_lane(const TransferSeries& series, const TransferPoint& point, std::uint32_t lane, double limit) {
  const TransferCase& c = series.question;
  const bool is_void =
      any_sample(series, point, [&](const auto& sample) { return sample.lane == lane && sample.intact == 0; });
  const ByVisit each_us = values_of(series, point, [&](const TransferSample& sample) {
    const double us = trial_us(c, sample);
    if (sample.lane != lane || !usable(us, sample)) return not_measured;
    return us / (static_cast<double>(sample.repeats) * legs(c));
  });
  return summarized(series, point, lane, each_us, is_void, static_cast<double>(point.axes.bytes), limit);
}

bool is_centre(std::uint64_t n) { return std::has_single_bit(n) || (n % 3 == 0 && std::has_single_bit(n / 3)); }

constexpr std::uint64_t most_chunk = 8 * MiB;  // as npgpu transfer advises

// 3 of "cuda:0@3"; -1 if it says none.
int rank_of(const std::string& place) {
  const std::size_t at = place.rfind('@');
  int rank = -1;
  if (at != place.npos) std::from_chars(place.data() + at + 1, place.data() + place.size(), rank);
  return rank;
}

std::vector<StageCost> stages_with(const Facts& facts, int partner, std::uint64_t extent) {
  std::vector<StageCost> stages;
  for (int i = 0;; ++i) {
    const auto stage = parse_stage(text_fact(facts, stage_fact(partner, extent, i)));
    if (!stage) return stages;
    stages.push_back(*stage);
  }
}

// A case but for its chunk.
TransferCase whatever_chunk(TransferCase c) {
  c.chunk_bytes = 0;
  return c;
}

}  // namespace

std::vector<TransferResult> Transfers::results(const TransferSeries& series) {
  const std::vector<Lane> all = lanes(series.question);
  std::vector<TransferResult> found;
  for (const TransferPoint& point : points_of(series))
    for (std::uint32_t lane = 0; lane < all.size(); ++lane)
      if (all[lane].measured) found.push_back(of_lane(series, point, lane, limit_of_lane(series, all[lane])));
  return model::in_order(std::move(found));
}

std::vector<TransferResult> results_of_all_lanes(const TransferSeries& series) {
  const std::vector<Lane> all = lanes(series.question);
  std::vector<Lane> measured;
  for (const Lane& lane : all)
    if (lane.measured) measured.push_back(lane);
  std::vector<TransferResult> found;
  if (measured.size() < 2) return found;
  const double limit = limit_of_sum(series, measured), count = static_cast<double>(measured.size());

  // A duplex has as many copies each way, and the longer time counts. With more lanes all ran all the time (see
  // lanes()), so that their rates add up.
  const bool all_ran = !series.question.more_lanes.empty() && series.question.timing != Timing::host;
  struct Together {
    double longest_us = 0;
    double repeats = 0;
    double per_us = 0;  // operations of all lanes
    std::size_t lanes = 0;
  };
  const auto is_measured = [&](const TransferSample& s) { return s.lane < all.size() && all[s.lane].measured; };
  for (const TransferPoint& point : points_of(series)) {
    const bool is_void =
        any_sample(series, point, [&](const auto& sample) { return is_measured(sample) && sample.intact == 0; });
    ByVisit each_us;
    for (const auto* visit : point.counted()) {
      std::map<std::uint32_t, Together> trials;
      for (const TransferSample& sample : samples_of(series, *visit)) {
        const double us = trial_us(series.question, sample);
        if (!is_measured(sample) || !usable(us, sample)) continue;
        Together& trial = trials[sample.trial];
        trial.longest_us = std::max(trial.longest_us, us);
        trial.repeats += static_cast<double>(sample.repeats);
        trial.per_us += static_cast<double>(sample.repeats) / us;
        ++trial.lanes;
      }
      // One operation is a copy on each lane.
      std::vector<double>& values = each_us.emplace_back();
      for (const auto& [number, trial] : trials)
        if (trial.lanes == measured.size())
          values.push_back(all_ran ? count / (trial.per_us * legs(series.question))
                                   : trial.longest_us / (trial.repeats / count * legs(series.question)));
    }
    found.push_back(
        summarized(series, point, 0, each_us, is_void, count * static_cast<double>(point.axes.bytes), limit));
  }
  return model::in_order(std::move(found));
}

bool PerturbedSizes::folds(std::uint64_t bytes) const {
  return std::any_of(behind.begin(), behind.end(), [&](const auto& centre) {
    return std::find(centre.second.begin(), centre.second.end(), bytes) != centre.second.end();
  });
}

PerturbedSizes perturbed_sizes_of(std::span<const std::uint64_t> sizes) {
  std::set<std::uint64_t> centres, others;
  for (const std::uint64_t n : sizes) (is_centre(n) ? centres : others).insert(n);

  std::map<std::uint64_t, int> distances;
  for (const std::uint64_t n : others) {
    std::uint64_t nearest = UINT64_MAX;
    const auto above = centres.lower_bound(n);
    if (above != centres.end()) nearest = *above - n;
    if (above != centres.begin()) nearest = std::min(nearest, n - *std::prev(above));
    if (nearest != UINT64_MAX) ++distances[nearest];
  }
  PerturbedSizes folding;
  int most = 1;
  for (const auto& [distance, times] : distances) {
    if (times <= most) continue;
    most = times;
    folding.perturbation = distance;
  }
  if (folding.perturbation == 0) return folding;
  for (const std::uint64_t c : centres)
    for (const std::uint64_t n : {c - folding.perturbation, c + folding.perturbation})
      if (others.contains(n)) folding.behind[c].push_back(n);
  return folding;
}

std::vector<StagedMessages> staged_messages(const Trace& trace) {
  const Facts ranks = facts_of(trace.provenance, "ranks"), costs = facts_of(trace.provenance, "ranks_after"),
              choices = facts_of(trace.provenance, "ranks_chunks");
  const double own = number_fact(costs.empty() ? ranks : costs, "rank");
  std::map<TransferCase, std::map<std::uint64_t, StagedSize>> all;
  for (const TransferSeries& series : trace.of<Transfers>()) {
    const TransferCase& c = series.question;
    if (!is_between_ranks(c) || c.access != Access::staged || c.pattern == Pattern::duplex) continue;
    for (const TransferResult& p : results(series)) {
      StagedSize& size = all[whatever_chunk(c)][p.axes.bytes];
      size.bytes = p.axes.bytes;
      if (c.chunk_bytes == 0) {
        size.advised_us = p.time_us.value;
      } else if (!(size.best_us <= p.time_us.value)) {
        size.best_us = p.time_us.value;
        size.best_chunk = std::min(c.chunk_bytes, p.axes.bytes);
      }
    }
  }
  std::vector<StagedMessages> found;
  for (const auto& [question, sizes] : all) {
    const int source = rank_of(question.source), target = rank_of(question.target);
    StagedMessages one{question.source, question.target, question.pattern};
    for (auto [bytes, size] : sizes) {
      const int partner = source == static_cast<int>(own) ? target : source;
      const auto stages = stages_with(costs, partner, extent_of(bytes));
      const auto choice = parse_choice(text_fact(choices, chunk_fact(partner, question.pattern, bytes)));
      if (choice) size.chunk = choice->advised, size.taken_chunk = choice->taken;
      else if (!stages.empty()) size.chunk = advised_chunk(stages, bytes, most_chunk);
      else continue;
      if (!stages.empty())
        size.predicted_us = microseconds(staged_time(stages, bytes, (bytes + size.chunk - 1) / size.chunk));
      one.sizes.push_back(size);
    }
    if (!one.sizes.empty()) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace npgpu
