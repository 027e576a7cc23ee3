#include "netpipe/model/compare/classes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "netpipe/model/medians.hpp"
#include "npgpu/drift.hpp"

namespace npgpu::model {

namespace {

constexpr std::size_t enough_to_share = 10;  // points
constexpr std::size_t enough_rounds = 3;     // of them
// Of what runs of one machine differ by, a case's own part where its class's is known. In the pairs of h200_run_c, _d
// and _e (data/traces) parts of curves scattered about their class's change by that or less.
constexpr double own_part = 0.5;
// Parts whose spreads show what is usual, and what that is worth: with it kernels, which are visited four times, are
// found slower by 5 % in 60 of 60 cases of these pairs, and without it in 54.
constexpr std::size_t enough_parts = 5;
constexpr double usual_freedom = 4;

constexpr double share_of_class = 0.5;  // what a case has changed by that shares its class's change

// Slower or faster is said of a class only where most of its cases are, and two at least.
bool is_in_common(SharedChange& change, const std::vector<CurveAt>& points) {
  std::map<const CaseCurve*, std::vector<CurveAt>> of_case;
  for (const CurveAt& point : points) of_case[point.first].push_back(point);
  change.cases = of_case.size();
  for (const auto& [curve, its] : of_case) {
    const auto numbers = numbers_of(its, Scale::time, median);
    const double log = median_difference(numbers[0], numbers[1]).value;
    change.sharing += log / std::log1p(change.change) >= share_of_class;
  }
  return change.sharing > 1 && 2 * change.sharing > change.cases;
}

// Variance of the difference of two sides' runs: each side is so many runs, or shows by itself how they differ.
double variance_of_runs(double share, const std::array<std::size_t, 2>& runs) {
  double variance = 0;
  for (const std::size_t count : runs)
    if (count < enough_runs) variance += share * share / static_cast<double>(count);
  return variance;
}

}  // namespace

SharedChanges::SharedChanges(const std::vector<CaseCurve>& curves, const Tolerances& tolerances) {
  set_usual(curves);
  std::map<std::pair<TimeClass, std::size_t>, std::vector<CurveAt>> points_of;
  for (const CaseCurve& curve : curves)
    for (std::size_t i = 0; i < curve.points.size(); ++i)
      if (is_common(curve.points[i])) points_of[{curve.time_class, band_of(curve.points[i])}].emplace_back(&curve, i);
  for (const auto& [where, points] : points_of) {
    if (classes.empty() || classes.back().time_class != where.first) classes.push_back({where.first});
    SharedChange& change = classes.back().shared.emplace_back();
    change.band = where.second;
    change.points = points.size();
  }
  std::vector<Tested> tested;
  for (ClassComparison& of : classes)
    for (SharedChange& change : of.shared) {
      change.tolerance = tolerances[static_cast<std::size_t>(of.time_class)].of(Third::large);
      if (change.points < enough_to_share) continue;
      const auto& points = points_of.at({of.time_class, change.band});
      const CaseCurve& first = *points.front().first;
      const double share = first.simulated ? 0 : run_to_run(of.time_class).share[change.band];
      std::vector<double> references;
      for (const auto& [curve, i] : points) references.push_back(reference_of(curve->points[i], Scale::time));
      const auto numbers = numbers_of(points, Scale::time, median);
      double cycles = not_measured;
      if (of.time_class == TimeClass::kernels) {
        const auto in_cycles = numbers_of(points, Scale::cycles, median);
        cycles = std::expm1(median_difference(in_cycles[0], in_cycles[1]).value);
      }
      tested.push_back(set_change(
          change, numbers, median(references),
          {.variance = variance_of_runs(share, first.runs), .enough = {enough_rounds, enough_rounds}}, cycles));
    }
  judge_all(tested);
  for (ClassComparison& of : classes)
    for (SharedChange& change : of.shared) {
      if (std::isnan(change.change)) continue;
      const bool changed = change.verdict == Verdict::slower || change.verdict == Verdict::faster;
      if (changed && !is_in_common(change, points_of.at({of.time_class, change.band}))) {
        change = {{.tolerance = change.tolerance}, change.band, change.points};
        continue;
      }
      Shared& shared = shared_[static_cast<std::size_t>(of.time_class)][change.band];
      shared.is_known = true;
      if (!changed) shared.log = std::log1p(change.change);
    }
}

void SharedChanges::set_usual(const std::vector<CaseCurve>& curves) {
  std::array<std::array<std::array<std::vector<double>, 2>, names_of<Third>.size()>, names_of<TimeClass>.size()> all;
  for (const CaseCurve& curve : curves)
    for (const Part& part : thirds_of(curve)) {
      const auto numbers = numbers_of(curve, part.points, Scale::time);
      for (std::size_t side = 0; side < 2; ++side)
        if (numbers[side].size() > 1)
          all[static_cast<std::size_t>(curve.time_class)][static_cast<std::size_t>(part.third)][side].push_back(
              variance(numbers[side]));
    }
  for (std::size_t of_class = 0; of_class < all.size(); ++of_class)
    for (std::size_t third = 0; third < all[of_class].size(); ++third)
      for (std::size_t side = 0; side < 2; ++side)
        if (const auto& variances = all[of_class][third][side]; variances.size() >= enough_parts)
          usual_[of_class][third][side] = {median(variances), usual_freedom};
}

Beyond SharedChanges::beyond(const CaseCurve& curve, const Part& part) const {
  Beyond beyond = this->beyond(curve, part.points);
  beyond.usual = usual_[static_cast<std::size_t>(curve.time_class)][static_cast<std::size_t>(part.third)];
  return beyond;
}

Beyond SharedChanges::beyond(const CaseCurve& curve, const Indices& points) const {
  Beyond beyond;
  const auto time_class = static_cast<std::size_t>(curve.time_class);
  double square = 0;
  for (const std::size_t i : points) {
    const std::size_t band = band_of(curve.points[i]);
    const Shared& shared = shared_[time_class][band];
    // A point by itself scatters about its class as much as runs do.
    const double part = shared.is_known && points.size() > 1 ? own_part : 1;
    const double share = curve.simulated ? 0 : part * run_to_run(curve.time_class).share[band];
    beyond.shared += shared.log / static_cast<double>(points.size());
    square += share * share / static_cast<double>(points.size());
  }
  beyond.variance = variance_of_runs(std::sqrt(square), curve.runs);
  for (std::size_t side = 0; side < 2; ++side)
    if (curve.runs[side] >= enough_runs) beyond.enough[side] = enough_runs;
  return beyond;
}

}  // namespace npgpu::model
