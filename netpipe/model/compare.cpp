#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "netpipe/model/compare_probes.hpp"
#include "npgpu/model.hpp"

namespace npgpu {

using model::Places;
using model::verdict_of;

namespace {

// "cuda" of "cuda:1". Devices are matched by order within their kind, so that the host is never held
// against a GPU because the other trace has no host sweep.
std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

Places places(const Trace& trace) {
  Places place;
  std::map<std::string, int> met;
  const auto add = [&](const std::string& device) {
    if (place.contains(device)) return;
    const std::string kind = kind_of(device);
    place[device] = kind + '#' + std::to_string(met[kind]++);
  };
  for (const Sweep& sweep : trace.sweeps) add(sweep.question.device);
  for (const ProbeSweep& probe : trace.probes) add(probe.question.device);
  return place;
}

// The question with the device replaced by its place: equal in both traces where the sweeps match.
Case placed(const Sweep& sweep, const Places& place) {
  Case c = sweep.question;
  c.device = place.at(c.device);
  return c;
}

using Key = std::pair<std::uint64_t, std::uint32_t>;  // bytes, lane

// What was measured; a void point counts as missing.
std::map<Key, Estimate> times(const Sweep* sweep) {
  std::map<Key, Estimate> found;
  if (sweep)
    for (const PointSummary& p : summarize(*sweep))
      if (!std::isnan(p.time_us.value)) found.emplace(Key{p.bytes, p.lane}, p.time_us);
  return found;
}

void compare_sweeps(std::vector<PointComparison>& out, const std::string& name, const Sweep* a, const Sweep* b,
                    double tolerance) {
  const auto in_a = times(a);
  const auto in_b = times(b);
  std::map<Key, int> keys;
  for (const auto& [key, time] : in_a) keys[key] |= 1;
  for (const auto& [key, time] : in_b) keys[key] |= 2;
  for (const auto& [key, where] : keys) {
    PointComparison p;
    p.title = name;
    p.bytes = key.first;
    p.lane = key.second;
    if (where & 1) p.a_us = in_a.at(key).value;
    if (where & 2) p.b_us = in_b.at(key).value;
    if (where == 3) {
      p.verdict = verdict_of(in_a.at(key), in_b.at(key), tolerance);
      const double change = p.b_us / p.a_us - 1;
      if (std::isfinite(change)) p.change = change;
    } else {
      p.verdict = where == 1 ? Verdict::only_a : Verdict::only_b;
    }
    out.push_back(std::move(p));
  }
}

}  // namespace

Verdict model::verdict_of(const Estimate& a, const Estimate& b, double tolerance) {
  if (a.value == b.value) return Verdict::same;
  const double change = b.value / a.value - 1;
  if (std::abs(change) <= tolerance) return Verdict::same;
  const bool apart = b.low > a.high || b.high < a.low;  // false where an interval is missing
  if (!apart || !std::isfinite(change)) return Verdict::unclear;
  return change > 0 ? Verdict::slower : Verdict::faster;
}

std::vector<PointComparison> compare(const Trace& a, const Trace& b, double tolerance) {
  const auto places_a = places(a);
  const auto places_b = places(b);
  std::vector<int> partner(a.sweeps.size(), -1);  // of each sweep in A, in B
  std::vector<bool> taken(b.sweeps.size(), false);

  // One question may have been asked twice, under two schedules or bound and unbound: the nearest kin first.
  const auto match = [&](bool same_bind, bool same_schedule) {
    for (std::size_t i = 0; i < a.sweeps.size(); ++i) {
      for (std::size_t j = 0; j < b.sweeps.size() && partner[i] < 0; ++j) {
        if (taken[j]) continue;
        Case of_a = placed(a.sweeps[i], places_a);
        Case of_b = placed(b.sweeps[j], places_b);
        if (!same_bind) of_a.bind = of_b.bind;
        if (of_a != of_b || (same_schedule && a.sweeps[i].schedule != b.sweeps[j].schedule)) continue;
        partner[i] = static_cast<int>(j);
        taken[j] = true;
      }
    }
  };
  match(true, true);
  match(true, false);
  match(false, true);
  match(false, false);

  std::vector<PointComparison> out;
  for (std::size_t i = 0; i < a.sweeps.size(); ++i) {
    const Sweep* other = partner[i] < 0 ? nullptr : &b.sweeps[static_cast<std::size_t>(partner[i])];
    compare_sweeps(out, title(a.sweeps[i].question), &a.sweeps[i], other, tolerance);
  }
  for (std::size_t j = 0; j < b.sweeps.size(); ++j) {
    if (taken[j]) continue;
    Case c = b.sweeps[j].question;
    for (const auto& [device, place] : places_a)
      if (place == places_b.at(c.device)) {
        c.device = device;
        break;
      }
    compare_sweeps(out, title(c), nullptr, &b.sweeps[j], tolerance);
  }
  model::compare_probes(out, a, b, places_a, places_b, tolerance);
  return out;
}

}  // namespace npgpu
