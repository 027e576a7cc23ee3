#include <cmath>
#include <map>
#include <utility>

#include "netpipe/model/matching.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/model.hpp"

namespace npgpu {

namespace {

using model::Pair;

Verdict verdict_of(const Estimate& a, const Estimate& b, double tolerance) {
  if (a.value == b.value) return Verdict::same;
  const double change = b.value / a.value - 1;
  if (std::abs(change) <= tolerance) return Verdict::same;
  const bool apart = b.low > a.high || b.high < a.low;  // false where an interval is missing
  if (!apart || !std::isfinite(change)) return Verdict::unclear;
  return change > 0 ? Verdict::slower : Verdict::faster;
}

// ---- the times of a pair's points, in us, by what tells points of a case apart; void ones count as missing ----------

template <class Key>
struct Times {
  std::map<Key, Estimate> a, b;
};

struct Copy {
  std::uint64_t bytes = 0;
  std::uint32_t lane = 0;
  auto operator<=>(const Copy&) const = default;
};

Times<Copy> times_of(const Pair<TransferSeries>& pair) {
  const auto times = [](const TransferSeries* sweep) {
    std::map<Copy, Estimate> found;
    if (sweep)
      for (const PointSummary& p : summarize(*sweep))
        if (!std::isnan(p.time_us.value)) found.emplace(Copy{p.bytes, p.lane}, p.time_us);
    return found;
  };
  return {times(pair.a), times(pair.b)};
}

// Of what A's trace did in one repeat: repeats may do more work in one version of a kernel than in another.
Times<Shape> times_of(const Pair<ProbeSeries>& pair) {
  std::map<Shape, double> work;
  for (const ProbeSeries* probe : {pair.a, pair.b})
    if (probe)
      for (const ProbePoint& p : probe->points) work.try_emplace(p.axes, p.work);
  const auto times = [&](const ProbeSeries* probe) {
    std::map<Shape, Estimate> found;
    if (probe)
      for (const model::PointRate& r : model::rates_of(*probe)) {
        const double us = 1e6 * work.at(r.shape);
        found.emplace(r.shape, Estimate{us / r.rate.value, us / r.rate.high, us / r.rate.low, "us", r.rate.method});
      }
    return found;
  };
  return {times(pair.a), times(pair.b)};
}

Times<JobShape> times_of(const Pair<JobSeries>& pair) {
  const auto times = [](const JobSeries* streams) {
    std::map<JobShape, Estimate> found;
    if (streams)
      for (const JobSummary& s : summarize(*streams))
        if (!std::isnan(s.time_us.value)) found.emplace(s.job, s.time_us);
    return found;
  };
  return {times(pair.a), times(pair.b)};
}

void tell(PointComparison& p, const Copy& copy) {
  p.bytes = copy.bytes;
  p.lane = copy.lane;
}
void tell(PointComparison& p, const Shape& shape) {
  p.axes = shape;
  p.bytes = shape.bytes;
}
void tell(PointComparison& p, const JobShape& job) {
  p.axes = job;
  p.bytes = job.bytes_in + job.bytes_out;
}

template <class Key>
void compare_points(std::vector<PointComparison>& out, const std::string& title, const Times<Key>& times,
                    double tolerance) {
  std::map<Key, std::pair<const Estimate*, const Estimate*>> both;
  for (const auto& [key, time] : times.a) both[key].first = &time;
  for (const auto& [key, time] : times.b) both[key].second = &time;
  for (const auto& [key, of] : both) {
    const auto& [a, b] = of;
    PointComparison p;
    p.title = title;
    tell(p, key);
    if (a) p.a_us = a->value;
    if (b) p.b_us = b->value;
    p.verdict = !b ? Verdict::only_a : !a ? Verdict::only_b : verdict_of(*a, *b, tolerance);
    const double change = p.b_us / p.a_us - 1;
    if (std::isfinite(change)) p.change = change;
    out.push_back(std::move(p));
  }
}

}  // namespace

std::vector<PointComparison> compare(const Trace& a, const Trace& b, double tolerance) {
  const auto in_a = model::device_slots(a), in_b = model::device_slots(b);
  std::vector<PointComparison> out;
  const auto add = [&](const auto& of_a, const auto& of_b) {
    for (const auto& pair : model::pairs_of(of_a, of_b, in_a, in_b))
      compare_points(out, pair.title, times_of(pair), tolerance);
  };
  add(a.sweeps, b.sweeps);
  add(a.probes, b.probes);
  add(a.streams, b.streams);
  return out;
}

}  // namespace npgpu
