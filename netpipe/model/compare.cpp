// Which case of one trace is which of the other, for all kinds of measurement, and the two point by point.
#include "npgpu/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace npgpu {

namespace {

// Calls visit(device) for each device that a case names. `Case` may be const.
template <class Case, class Visit> void each_device(Case& question, Visit&& visit) {
  if constexpr (requires { question.device; }) {
    visit(question.device);
  } else {
    visit(question.source);
    visit(question.target);
    for (auto& lane : question.more_lanes) {
      visit(lane.source);
      visit(lane.target);
    }
  }
}

// Each device of a trace as "cuda#0", "cuda#1" in the order in which they appear: by order within their kind, so that
// the host is never held against a GPU because the other trace has no series of the host.
using DeviceSlots = std::map<std::string, std::string>;
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

// The same in both traces where the cases match.
template <class Case> Case in_slots(Case question, const DeviceSlots& slots) {
  each_device(question, [&](std::string& device) { device = slots.at(device); });
  return question;
}

// The question, whatever its threads and buffers were bound to.
template <class Case> Case unbound(Case question) {
  if constexpr (requires { question.bind; }) question.bind = true;
  return question;
}

template <class S> struct Pair {
  std::string title;  // devices as A names them; B's own name where A has none in that slot
  const S* a = nullptr;
  const S* b = nullptr;  // one of the two may lack
};

// A's cases in their order, then those that only B has. A question may have been asked twice, under two schedules or
// bound and unbound: the closest match first.
template <class S>
std::vector<Pair<S>> pairs_of(const std::vector<S>& a, const std::vector<S>& b, const DeviceSlots& in_a,
                              const DeviceSlots& in_b) {
  std::vector<Pair<S>> pairs;
  for (const S& one : a) pairs.push_back({title(one.question), &one});
  std::vector<bool> taken(b.size(), false);
  constexpr std::array<std::pair<bool, bool>, 4> passes{{{true, true}, {true, false}, {false, true}, {false, false}}};
  for (const auto& [same_binding, same_schedule] : passes)
    for (Pair<S>& pair : pairs)
      for (std::size_t j = 0; j < b.size() && !pair.b; ++j) {
        if (taken[j]) continue;
        const auto of_a = in_slots(pair.a->question, in_a), of_b = in_slots(b[j].question, in_b);
        if (same_binding ? of_a != of_b : unbound(of_a) != unbound(of_b)) continue;
        if (same_schedule && pair.a->schedule != b[j].schedule) continue;
        pair.b = &b[j];
        taken[j] = true;
      }
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (taken[j]) continue;
    auto question = b[j].question;
    each_device(question, [&](std::string& device) {
      const auto its = [&](const auto& of_a) { return of_a.second == in_b.at(device); };
      if (const auto named = std::find_if(in_a.begin(), in_a.end(), its); named != in_a.end()) device = named->first;
    });
    pairs.push_back({title(question), nullptr, &b[j]});
  }
  return pairs;
}

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
void compare_points(std::vector<PointComparison>& out, const Pair<Series<K>>& pair, double tolerance) {
  using Times = std::vector<PointTime<K>>;
  const Times of_a = pair.a ? estimates(*pair.a) : Times{}, of_b = pair.b ? estimates(*pair.b) : Times{};
  std::map<std::pair<typename K::Axes, std::uint32_t>, std::pair<const PointTime<K>*, const PointTime<K>*>> both;
  for (const PointTime<K>& one : of_a)
    if (auto& first = both[{one.axes, one.lane}].first; !first) first = &one;
  for (const PointTime<K>& one : of_b)
    if (auto& first = both[{one.axes, one.lane}].second; !first) first = &one;
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
  const auto in_a = device_slots(a), in_b = device_slots(b);
  std::vector<PointComparison> out;
  for_each_kind([&]<class K>() {
    for (const auto& pair : pairs_of(a.of<K>(), b.of<K>(), in_a, in_b)) compare_points<K>(out, pair, tolerance);
  });
  return out;
}

}  // namespace npgpu
