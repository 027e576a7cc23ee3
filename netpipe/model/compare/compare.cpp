#include "npgpu/compare.hpp"

#include <algorithm>
#include <cmath>

#include "netpipe/model/compare/classes.hpp"
#include "netpipe/model/compare/energies.hpp"
#include "netpipe/model/compare/parts.hpp"
#include "netpipe/model/compare/tolerances.hpp"

namespace npgpu {

namespace {

using model::CaseCurve;
using model::CurvePoint;
using model::SharedChanges;
using model::Tested;

constexpr double point_tolerance = 4;  // that of its class times so much

Verdict verdict_of(Reason broken) { return broken == Reason::wrong_results ? Verdict::broken : Verdict::no_figure; }

void note(PointComparison& p, std::size_t side, const std::string& why) {
  p.note += (p.note.empty() ? "" : "; ") + ((side ? "B: " : "A: ") + why);
}

// One point that one side has alone, is wrong, or has no figure: what can be said without a test. False if there is
// more to say.
bool state(PointComparison& p, const CaseCurve& curve, const CurvePoint& point) {
  for (std::size_t side = 0; side < 2; ++side) {
    const model::Readings& its = point.side[side];
    if (its.broken == Reason::none) continue;
    if (p.verdict != Verdict::broken) {
      p.verdict = verdict_of(its.broken);
      p.reason = its.broken;
    }
    note(p, side, its.why);
  }
  if (p.verdict != Verdict::same) return true;
  for (std::size_t side = 0; side < 2; ++side) {
    if (point.side[side].runs > 0) continue;
    if (curve.stopped[side].empty()) {
      p.verdict = side ? Verdict::only_a : Verdict::only_b;
    } else {
      p.verdict = Verdict::no_figure;
      p.reason = Reason::stopped;
      note(p, side, curve.stopped[side]);
    }
    return true;
  }
  return false;
}

// Of comparisons as they are made.
struct Tests {
  std::vector<Tested> of_parts{}, of_points{};
};

void add_points(CaseComparison& of, const CaseCurve& curve, const SharedChanges& shared, const Tolerance& tolerance,
                Tests& tests) {
  std::vector<Third> third_of(curve.points.size(), Third::all);
  for (const model::Part& part : thirds_of(curve))
    for (const std::size_t i : part.points) third_of[i] = part.third;
  of.points.resize(curve.points.size());
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    PointComparison& p = of.points[i];
    p.axes = curve.points[i].axes;
    p.tolerance = point_tolerance * tolerance.of(third_of[i]);
    if (!state(p, curve, curve.points[i]))
      tests.of_points.push_back(set_change(p, curve, {i}, shared.beyond(curve, {i})));
  }
}

void add_parts(CaseComparison& of, const CaseCurve& curve, const SharedChanges& shared, const Tolerance& tolerance,
               Tests& tests) {
  const std::vector<model::Part> thirds = thirds_of(curve);
  of.parts.resize(thirds.size());
  for (std::size_t i = 0; i < thirds.size(); ++i) {
    PartComparison& part = of.parts[i];
    const model::Part& its = thirds[i];
    part.third = its.third;
    part.first = curve.points[its.points.front()].axes;
    part.last = curve.points[its.points.back()].axes;
    part.points = its.points.size();
    part.tolerance = tolerance.of(its.third);
    tests.of_parts.push_back(set_change(part, curve, its.points, shared.beyond(curve, its)));
  }
}

// A figure, and whose work its unit needs.
struct FigureOf {
  KeyFigure figure;
  const CaseCurve* curve;
  model::Part part;
};

void add_figures(std::vector<FigureOf>& all, const CaseCurve& curve, const Tolerance& tolerance) {
  for (const FigureChoice& choice : curve.figures) {
    const model::Part part = part_of_figure(curve, choice.among);
    if (part.points.empty()) continue;
    KeyFigure figure;
    figure.name = figure_name(choice, curve, part.points);
    figure.unit = choice.unit;
    figure.at = span_text(curve, part.points);
    figure.tolerance = tolerance.of(part.third);
    figure.time_class = curve.time_class;
    const auto has_name = [&](const FigureOf& one) { return one.figure.name == figure.name; };
    if (std::ranges::any_of(all, has_name)) continue;  // of another module
    all.push_back({std::move(figure), &curve, part});
  }
}

// What parts and key figures of each class could have shown.
void set_shown(Comparison& all) {
  for (ClassComparison& of : all.classes) {
    const auto see = [&](const Change& c) {
      if (!std::isfinite(c.shown)) return;
      if (!(c.shown >= of.least_shown)) of.least_shown = c.shown;
      if (!(c.shown <= of.most_shown)) of.most_shown = c.shown;
    };
    for (const CaseComparison& one : all.cases)
      if (one.time_class == of.time_class) std::ranges::for_each(one.parts, see);
    for (const KeyFigure& figure : all.figures)
      if (figure.time_class == of.time_class) see(figure);
  }
}

// The worst verdict of all; slower by the clock comes after slower. A point alone that cannot be told or is disturbed
// does not make the case so.
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
    if (of.parts.empty() || (point.verdict != Verdict::cannot_tell && point.verdict != Verdict::disturbed)) see(point);
  if (!worst) return;
  of.verdict = worst->verdict;
  of.reason = worst->reason;
}

bool is(const Change& c, Verdict verdict) { return c.verdict == verdict; }
bool is_slower(const Change& c, bool by_the_clock) {
  return is(c, Verdict::slower) && (c.reason == Reason::clock) == by_the_clock;
}

}  // namespace

bool is_of_one_side(Verdict verdict) { return verdict == Verdict::only_a || verdict == Verdict::only_b; }
bool is_judged(const CaseComparison& of) { return of.verdict != Verdict::disturbed && !is_of_one_side(of.verdict); }

Outcome outcome_of(const Comparison& all) {
  const auto any = [&](auto holds) {
    if (std::ranges::any_of(all.figures, holds)) return true;
    if (std::ranges::any_of(all.classes,
                            [&](const ClassComparison& of) { return std::ranges::any_of(of.shared, holds); }))
      return true;
    return std::ranges::any_of(all.cases, [&](const CaseComparison& of) {
      return std::ranges::any_of(of.parts, holds) || std::ranges::any_of(of.points, holds);
    });
  };
  const auto is_broken = [](const Change& c) { return is(c, Verdict::broken) || is(c, Verdict::no_figure); };
  if (any(is_broken) || std::ranges::any_of(all.energies, is_broken)) return Outcome::broken;
  const bool slower = any([](const Change& c) { return is_slower(c, false); });
  const bool by_clock = any([](const Change& c) { return is_slower(c, true); });
  if ((slower || by_clock) && !all.other_cards.empty() && !all.judges_cards) return Outcome::cards;
  if (slower) return Outcome::slower;
  if (by_clock) return Outcome::clock;
  if (!all.cases.empty() && std::ranges::none_of(all.cases, is_judged)) return Outcome::not_judged;
  const auto untold = [](const CaseComparison& of) {
    return of.verdict == Verdict::cannot_tell || !is_judged(of) ||
           std::ranges::any_of(of.points, is_of_one_side, &Change::verdict);
  };
  return all.cases.empty() || std::ranges::any_of(all.cases, untold) ? Outcome::cannot_tell : Outcome::not_slower;
}

Comparison compare(Runs a, Runs b, std::optional<double> tolerance) {
  const std::vector<CaseCurve> curves = model::curves_of(a, b);
  Comparison all;
  all.other_hardware = other_hardware(a, b);
  all.other_cards = other_cards(a, b);
  all.tolerances = model::tolerances_of(tolerance);
  all.energies = model::energy_changes(model::runs_of(a, b), tolerance);
  for (const Trace* trace : b) all.soaks += trace->of<Soaks>().size();
  SharedChanges shared(curves, all.tolerances);
  Tests tests;
  std::vector<FigureOf> figures;
  all.cases.resize(curves.size());
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const CaseCurve& curve = curves[i];
    const Tolerance& tolerance_of_class = all.tolerances[static_cast<std::size_t>(curve.time_class)];
    CaseComparison& of = all.cases[i];
    of.kind = curve.kind;
    of.title = curve.title;
    of.name = curve.name;
    of.lane = curve.lane;
    of.time_class = curve.time_class;
    of.trials_stand_in = curve.trials_stand_in;
    add_parts(of, curve, shared, tolerance_of_class, tests);
    add_points(of, curve, shared, tolerance_of_class, tests);
    add_figures(figures, curve, tolerance_of_class);
  }
  for (FigureOf& one : figures)
    tests.of_parts.push_back(set_change(one.figure, *one.curve, one.part.points, shared.beyond(*one.curve, one.part)));
  judge_all(tests.of_parts);
  judge_all(tests.of_points);
  for (FigureOf& one : figures) {
    for (double* value : {&one.figure.a, &one.figure.b})
      *value = in_unit(*value, one.figure.unit, *one.curve, one.part.points);
    all.figures.push_back(std::move(one.figure));
  }
  for (CaseComparison& of : all.cases) conclude(of);
  all.classes = std::move(shared.classes);
  set_shown(all);
  return all;
}

}  // namespace npgpu
