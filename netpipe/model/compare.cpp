#include "npgpu/compare.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "netpipe/model/matching.hpp"

namespace npgpu {

namespace {

template <class K>
Verdict verdict_of(const PointTime<K>& a, const PointTime<K>& b, double tolerance, std::string& note) {
  const Estimate &of_a = a.time_us, &of_b = b.time_us;
  if (of_a.value == of_b.value) return Verdict::same;
  const double change = of_b.value / of_a.value - 1;
  if (std::abs(change) <= tolerance) return Verdict::same;
  if (!std::isfinite(change)) return Verdict::unclear;
  const auto slower = change > 0 ? Verdict::slower : Verdict::faster;
  if (std::isfinite(of_a.high - of_a.low) && std::isfinite(of_b.high - of_b.low))
    return of_b.low > of_a.high || of_b.high < of_a.low ? slower : Verdict::unclear;
  if (b.min_us > a.max_us * (1 + tolerance) || a.min_us > b.max_us * (1 + tolerance)) return slower;
  note = "too few trials for an interval, and the trials overlap";
  return Verdict::unclear;
}

// Repeats may do more work in one version of a kernel than in another.
template <class K> PointTime<K> for_work(PointTime<K> time, double work) {
  const double factor = work / time.work;
  if (std::isfinite(factor) && factor != 1)
    for (double* us : {&time.time_us.value, &time.time_us.low, &time.time_us.high, &time.min_us, &time.max_us})
      *us *= factor;
  return time;
}

template <class K>
void compare_points(std::vector<PointComparison>& out, const model::Pair<Series<K>>& pair, double tolerance) {
  using Times = std::vector<PointTime<K>>;
  const Times of_a = pair.a ? estimates(*pair.a) : Times{}, of_b = pair.b ? estimates(*pair.b) : Times{};
  std::map<std::pair<typename K::Axes, std::uint32_t>, std::pair<const PointTime<K>*, const PointTime<K>*>> both;
  const auto keep_first = [](const PointTime<K>*& kept, const PointTime<K>& one) {
    if (!kept) kept = &one;
  };
  for (const PointTime<K>& one : of_a) keep_first(both[{one.axes, one.lane}].first, one);
  for (const PointTime<K>& one : of_b) keep_first(both[{one.axes, one.lane}].second, one);
  for (const auto& [key, times] : both) {
    const auto& [a, b] = times;
    PointComparison p{.kind = K::name, .title = pair.title, .axes = text_of(key.first), .lane = key.second};
    const auto say_broken = [&](const char* whose, const PointTime<K>* one) {
      if (!one || one->usable()) return;
      p.verdict = Verdict::broken;
      p.note += (p.note.empty() ? "" : "; ") + (whose + (": " + one->why));
    };
    say_broken("A", a);
    say_broken("B", b);
    if (a) p.a_us = a->time_us.value;
    const PointTime<K> scaled = b ? for_work(*b, a ? a->work : not_measured) : PointTime<K>{};
    p.b_us = scaled.time_us.value;
    if (p.verdict != Verdict::broken)
      p.verdict = !b ? Verdict::only_a : !a ? Verdict::only_b : verdict_of(*a, scaled, tolerance, p.note);
    const double change = p.b_us / p.a_us - 1;
    if (std::isfinite(change)) p.change = change;
    out.push_back(std::move(p));
  }
}

}  // namespace

std::vector<PointComparison> compare(const Trace& a, const Trace& b, double tolerance) {
  const auto in_a = model::device_slots(a), in_b = model::device_slots(b);
  std::vector<PointComparison> out;
  for_each_kind([&]<class K>() {
    for (const auto& pair : model::pairs_of(a.of<K>(), b.of<K>(), in_a, in_b)) compare_points<K>(out, pair, tolerance);
  });
  return out;
}

}  // namespace npgpu
