#include "npgpu/compare.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/compare/tolerances.hpp"

namespace npgpu {

namespace {

using model::CaseCurve;
using model::CurvePoint;
using model::Indices;

constexpr double point_tolerance = 4;  // that of its class times so much

// One point on one side or broken: what can be said without a test. False if there is more to say.
bool state(PointComparison& p, const CurvePoint& point) {
  for (std::size_t side = 0; side < 2; ++side) {
    const model::Readings& its = point.side[side];
    if (its.broken == Reason::none) continue;
    p.verdict = Verdict::broken;
    p.reason = its.broken;
    p.note += (p.note.empty() ? "" : "; ") + ((side ? "B: " : "A: ") + its.why);
  }
  if (p.verdict == Verdict::broken) return true;
  if (point.side[0].runs == 0 || point.side[1].runs == 0) {
    p.verdict = point.side[0].runs ? Verdict::only_a : Verdict::only_b;
    return true;
  }
  if (is_common(point)) return false;
  p.verdict = Verdict::undecided;  // times of zero
  p.reason = Reason::no_time;
  return true;
}

void add_points(CaseComparison& of, const CaseCurve& curve, const Tolerance& tolerance) {
  std::vector<Third> third_of(curve.points.size(), Third::all);
  for (const model::Part& part : thirds_of(curve))
    for (const std::size_t i : part.points) third_of[i] = part.third;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    PointComparison p;
    p.axes = curve.points[i].axes;
    p.tolerance = point_tolerance * tolerance.of(third_of[i]);
    if (!state(p, curve.points[i])) set_change(p, curve, {i});
    of.points.push_back(std::move(p));
  }
}

void add_parts(CaseComparison& of, const CaseCurve& curve, const Tolerance& tolerance) {
  for (const model::Part& its : thirds_of(curve)) {
    PartComparison part;
    part.third = its.third;
    part.first = curve.points[its.points.front()].axes;
    part.last = curve.points[its.points.back()].axes;
    part.points = its.points.size();
    part.tolerance = tolerance.of(its.third);
    set_change(part, curve, its.points);
    of.parts.push_back(std::move(part));
  }
}

void add_figures(std::vector<KeyFigure>& all, const CaseCurve& curve, const Tolerance& tolerance) {
  for (const model::FigureChoice& choice : curve.figures) {
    const auto [third, points] = part_of_figure(curve, choice.among);
    if (points.empty()) continue;
    KeyFigure figure;
    figure.name = figure_name(choice, curve, points);
    figure.unit = choice.unit;
    figure.at = span_text(curve, points);
    figure.tolerance = tolerance.of(third);
    if (std::ranges::find(all, figure.name, &KeyFigure::name) != all.end()) continue;  // of another module
    set_change(figure, curve, points);
    for (double* value : {&figure.a, &figure.b}) *value = in_unit(*value, choice.unit, curve, points);
    all.push_back(std::move(figure));
  }
}

// Corrects p over all of them, and judges.
void judge_all(const std::vector<Change*>& changes) {
  std::vector<double> p;
  for (const Change* change : changes) p.push_back(change->p);
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i]->p = corrected[i];
    model::judge(*changes[i]);
  }
}

// The worst verdict of all; slower by the clock comes after slower. A point alone that is undecided or disturbed does
// not make the case so.
void conclude(CaseComparison& of) {
  const auto rank = [&](const Change& c) {
    return std::pair(std::ranges::find(worst_first, c.verdict) - worst_first.begin(), c.reason == Reason::clock);
  };
  const Change* worst = nullptr;
  const auto see = [&](const Change& c) {
    if (!worst || rank(c) < rank(*worst)) worst = &c;
  };
  for (const PartComparison& part : of.parts) see(part);
  for (const PointComparison& point : of.points)
    if (of.parts.empty() || (point.verdict != Verdict::undecided && point.verdict != Verdict::disturbed)) see(point);
  if (!worst) return;
  of.verdict = worst->verdict;
  of.reason = worst->reason;
}

bool is(const Change& c, Verdict verdict) { return c.verdict == verdict; }
bool is_slower(const Change& c, bool by_the_clock) {
  return is(c, Verdict::slower) && (c.reason == Reason::clock) == by_the_clock;
}

}  // namespace

Outcome outcome_of(const Comparison& all) {
  const auto any = [&](auto holds) {
    if (std::ranges::any_of(all.figures, holds)) return true;
    return std::ranges::any_of(all.cases, [&](const CaseComparison& of) {
      return std::ranges::any_of(of.parts, holds) || std::ranges::any_of(of.points, holds);
    });
  };
  if (any([](const Change& c) { return is(c, Verdict::broken); })) return Outcome::broken;
  if (any([](const Change& c) { return is_slower(c, false); })) return Outcome::slower;
  if (any([](const Change& c) { return is_slower(c, true); })) return Outcome::clock;
  return Outcome::not_slower;
}

Comparison compare(Runs a, Runs b, std::optional<double> tolerance) {
  const std::vector<CaseCurve> curves = model::curves_of(a, b);
  Comparison all;
  all.a_runs = a.size();
  all.b_runs = b.size();
  all.other_hardware = other_hardware(a, b);
  all.tolerances = model::tolerances_of(curves, a, b, tolerance);
  for (const CaseCurve& curve : curves) {
    const Tolerance& tolerance_of_class = all.tolerances[static_cast<std::size_t>(curve.time_class)];
    CaseComparison of{.kind = curve.kind,
                      .title = curve.title,
                      .lane = curve.lane,
                      .time_class = curve.time_class,
                      .trials_stand_in = curve.trials_stand_in};
    add_parts(of, curve, tolerance_of_class);
    add_points(of, curve, tolerance_of_class);
    add_figures(all.figures, curve, tolerance_of_class);
    all.cases.push_back(std::move(of));
  }
  std::vector<Change*> parts, points;
  for (KeyFigure& figure : all.figures) parts.push_back(&figure);
  for (CaseComparison& of : all.cases) {
    for (PartComparison& part : of.parts) parts.push_back(&part);
    for (PointComparison& point : of.points) points.push_back(&point);
  }
  judge_all(parts);
  judge_all(points);
  for (CaseComparison& of : all.cases) conclude(of);
  return all;
}

}  // namespace npgpu
