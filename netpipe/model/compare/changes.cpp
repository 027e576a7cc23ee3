#include "netpipe/model/compare/changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/drift.hpp"

namespace npgpu::model {

namespace {

// Not 0.05: the rounds of a run are less independent than Welch's test takes them for, as a host's clock drifts slowly.
constexpr double significant = 0.01;
constexpr double nine_in_ten = 1.2816;  // so many standard deviations above the least that is called slower

// Where all numbers fall into two groups and a side has numbers in both of them, it is no shift that tells the sides
// apart but how often each takes the longer of two times.
std::optional<double> p_of_two_times(const std::array<std::vector<double>, 2>& logs) {
  std::vector<double> all;
  for (const auto& side : logs)
    for (const double log : side) all.push_back(std::exp(log));
  const auto upper = upper_group(all);
  if (!upper) return std::nullopt;
  std::array<std::uint32_t, 2> above{};
  bool met_both = false;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const double log : logs[side]) above[side] += std::exp(log) >= *upper;
    met_both = met_both || (above[side] > 0 && above[side] < logs[side].size());
  }
  if (!met_both) return std::nullopt;
  const auto count = [](const auto& side) { return static_cast<std::uint32_t>(side.size()); };
  return fisher(above[0], count(logs[0]), above[1], count(logs[1]));
}

bool set_disturbed(Change& c, const CaseCurve& curve, const Indices& points) {
  for (std::size_t side = 0; side < 2; ++side) {
    std::size_t runs = 0, disturbed = 0;
    std::string why;
    for (const std::size_t i : points) {
      const Readings& its = curve.points[i].side[side];
      runs += its.runs;
      disturbed += its.others + (side == 0 ? its.clocked : 0);
      if (why.empty()) why = its.why;
    }
    if (2 * disturbed <= runs) continue;
    c.verdict = Verdict::disturbed;
    c.reason = Reason::others;
    c.note = (side ? "B: " : "A: ") + why;
    return true;
  }
  return false;
}

}  // namespace

bool is_common(const CurvePoint& point) {
  return std::ranges::all_of(point.side,
                             [](const Readings& one) { return !one.all.empty() && one.broken == Reason::none; });
}

double reference_of(const CurvePoint& point, Scale scale) {
  std::vector<double> all;
  for (const Readings& side : point.side)
    for (const Reading& reading : side.all) all.push_back(value_in(scale, reading));
  return all.empty() ? not_measured : median(all);
}

double value_in(Scale scale, const Reading& reading) {
  return scale == Scale::time ? reading.log_us : reading.log_us + reading.log_mhz;
}

std::size_t band_of(const CurvePoint& point) { return DriftByTime::band(std::exp(reference_of(point, Scale::time))); }

namespace {

// Medians over the rounds of each run where there are enough runs; else all rounds.
std::vector<double> by_run(const std::map<std::size_t, std::vector<double>>& rounds_of_run) {
  std::vector<double> numbers;
  if (rounds_of_run.size() >= enough_runs)
    for (const auto& [run, rounds] : rounds_of_run) numbers.push_back(median(rounds));
  else
    for (const auto& [run, rounds] : rounds_of_run) numbers.insert(numbers.end(), rounds.begin(), rounds.end());
  return numbers;
}

}  // namespace

std::array<std::vector<double>, 2> numbers_of(std::span<const CurveAt> points, Scale scale,
                                              double (*of_round)(std::span<const double>)) {
  using Visit = std::pair<std::size_t, std::uint32_t>;  // run and round
  std::array<std::map<Visit, std::vector<double>>, 2> visits;
  for (const auto& [curve, i] : points) {
    const double reference = reference_of(curve->points[i], scale);
    for (std::size_t side = 0; side < 2; ++side)
      for (const Reading& reading : curve->points[i].side[side].all)
        visits[side][{reading.run, reading.round}].push_back(value_in(scale, reading) - reference);
  }
  std::array<std::vector<double>, 2> numbers;
  for (std::size_t side = 0; side < 2; ++side) {
    std::map<std::size_t, std::vector<double>> rounds_of_run;
    for (const auto& [visit, values] : visits[side])
      if (2 * values.size() >= points.size()) rounds_of_run[visit.first].push_back(of_round(values));
    numbers[side] = by_run(rounds_of_run);
  }
  return numbers;
}

std::array<std::vector<double>, 2> numbers_of(const CaseCurve& curve, const Indices& points, Scale scale) {
  std::vector<CurveAt> of;
  for (const std::size_t i : points) of.emplace_back(&curve, i);
  return numbers_of(of, scale, mean_of);
}

namespace {

double share_of(double log) { return std::expm1(log); }

void judge(Change& c) {
  if (c.verdict != Verdict::same) return;
  const Reason how = std::exchange(c.reason, Reason::none);
  if (std::isnan(c.p)) {
    c.verdict = Verdict::cannot_tell;
    c.reason = Reason::few_values;
  } else if (c.p < significant && std::abs(c.own) > c.tolerance) {
    c.verdict = c.own > 0 ? Verdict::slower : Verdict::faster;
    c.reason = how;
    const double cycles = c.own > 0 ? c.cycles : -c.cycles;
    if (cycles <= c.tolerance) c.reason = Reason::clock;
  } else if (c.low < -c.tolerance || c.high > c.tolerance) {
    c.verdict = Verdict::cannot_tell;
    c.reason = how == Reason::two_times ? how : Reason::interval;
  }
}

}  // namespace

Tested set_change(Change& c, const std::array<std::vector<double>, 2>& numbers, double reference, const Beyond& beyond,
                  double cycles) {
  Tested tested{&c};
  const MedianDifference time = median_difference(numbers[0], numbers[1], beyond.variance, beyond.usual);
  if (std::isnan(time.value)) return tested;
  c.a = std::exp(reference + median(numbers[0]));
  c.b = std::exp(reference + median(numbers[1]));
  c.change = share_of(time.value);
  c.cycles = cycles;
  // Of what it changed by, all that its class did, or nothing of it.
  const double least = time.value - std::max(beyond.shared, 0.0), most = time.value - std::min(beyond.shared, 0.0);
  tested.own = least > 0 ? least : most < 0 ? most : 0;
  tested.error = time.error;
  tested.freedom = time.freedom;
  c.own = share_of(tested.own);
  c.low = share_of(least - (time.value - time.low));
  c.high = share_of(most + (time.high - time.value));
  for (std::size_t side = 0; side < 2; ++side)
    if (numbers[side].size() < beyond.enough[side]) return tested;
  if (time.error > 0) c.p = student_p(tested.own / time.error, time.freedom);
  else if (time.error == 0) c.p = tested.own == 0 ? 1 : 0;
  return tested;
}

Tested set_change(Change& c, const CaseCurve& curve, const Indices& points, const Beyond& beyond) {
  const auto numbers = numbers_of(curve, points, Scale::time);
  double reference = 0;
  for (const std::size_t i : points)
    reference += reference_of(curve.points[i], Scale::time) / static_cast<double>(points.size());
  double cycles = not_measured;
  if (curve.time_class == TimeClass::kernels) {
    const auto in_cycles = numbers_of(curve, points, Scale::cycles);
    cycles = share_of(median_difference(in_cycles[0], in_cycles[1]).value);
  }
  const Tested tested = set_change(c, numbers, reference, beyond, cycles);
  if (set_disturbed(c, curve, points)) {
    c.p = not_measured;
    return {&c};
  }
  if (const auto p = p_of_two_times(numbers)) {
    c.p = *p;
    c.reason = Reason::two_times;
  }
  return tested;
}

void judge_all(std::vector<Tested>& all) {
  std::vector<double> p;
  for (const Tested& one : all) p.push_back(one.change->p);
  const std::vector<double> corrected = holm(p);
  const auto known = std::ranges::count_if(p, [](double one) { return !std::isnan(one); });
  const auto tests = static_cast<double>(std::max<std::ptrdiff_t>(known, 1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    Change& c = *all[i].change;
    c.p = corrected[i];
    if (std::isfinite(all[i].error)) {
      // Of all tests the first that Holm's correction looks at.
      const double sure = student_quantile(1 - significant / tests / 2, all[i].freedom) * all[i].error;
      c.shown = share_of(std::max(std::log1p(c.tolerance), sure) + nine_in_ten * all[i].error);
    }
    judge(c);
  }
}

}  // namespace npgpu::model
