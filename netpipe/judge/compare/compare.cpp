// Two sides compared: whether they measured the same hardware, as far as that decides what may be called a regression;
// key figures; and each case, judged.
#include "npgpu/model/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "netpipe/judge/compare/changes.hpp"
#include "netpipe/judge/compare/classes.hpp"
#include "netpipe/judge/compare/curves.hpp"
#include "netpipe/judge/health/record.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu {

namespace {

using Texts = std::set<std::string>;

bool is_host(const std::string& device) { return device == "host"; }

// Names of the devices that its series are about.
Texts devices_of(Runs runs, bool host) {
  Texts all;
  for (const Trace* trace : runs)
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : trace->of<K>())
        if (is_host(device_of(series.question)) == host && !series.device_name.empty()) all.insert(series.device_name);
    });
  return all;
}

// "132 multiprocessors", as provenance has it.
Texts sizes_of(Runs runs) {
  Texts all;
  for (const Trace* trace : runs)
    for (const auto& [group, facts] : trace->provenance)
      for (const char* key : {"multiprocessors", "sms"})
        if (const double count = number_fact(facts, key); group != "host" && count > 0)
          all.insert(fmt::format("{:.0f} multiprocessors", count));
  return all;
}

// Empty where they are the same, or one of them is not known.
std::string differing(std::string_view what, const Texts& a, const Texts& b) {
  if (a == b || a.empty() || b.empty()) return {};
  return fmt::format("{}: {} in A, {} in B", what, fmt::join(a, ", "), fmt::join(b, ", "));
}

// By slot: UUIDs of the GPUs that stood there.
std::map<std::string, Texts> cards_of(Runs runs) {
  std::map<std::string, Texts> all;
  for (const Trace* trace : runs) {
    const model::DeviceSlots slots = model::device_slots(*trace);
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : trace->of<K>())
        if (const auto slot = slots.find(device_of(series.question));
            slot != slots.end() && !series.simulated && !series.device_uuid.empty())
          all[slot->second].insert(series.device_uuid.substr(0, std::string_view("GPU-00000000").size()));
    });
  }
  return all;
}

std::string copy_way(Direction direction) {
  switch (direction) {
    case Direction::h2d: return "host to device";
    case Direction::d2h: return "device to host";
    case Direction::d2d: return "within the device";
    case Direction::h2h: return "within the host";
    case Direction::peer: break;
  }
  return "device to device";
}

}  // namespace

std::string other_cards(Runs a, Runs b) {
  const auto of_a = cards_of(a), of_b = cards_of(b);
  Texts apart_a, apart_b;
  for (const auto& [slot, cards] : of_a) {
    const auto same_slot = of_b.find(slot);
    if (same_slot == of_b.end()) continue;
    if (std::ranges::any_of(cards, [&](const std::string& card) { return same_slot->second.contains(card); })) continue;
    apart_a.insert(cards.begin(), cards.end());
    apart_b.insert(same_slot->second.begin(), same_slot->second.end());
  }
  if (apart_a.empty()) return {};
  return fmt::format("{} in A, {} in B", fmt::join(apart_a, ", "), fmt::join(apart_b, ", "));
}

std::string other_hardware(Runs a, Runs b) {
  std::string why = differing("the GPUs differ", devices_of(a, false), devices_of(b, false));
  if (why.empty() && !devices_of(a, false).empty() && !devices_of(b, false).empty())
    why = differing("the GPUs differ", sizes_of(a), sizes_of(b));
  return why.empty() ? differing("the hosts' processors differ", devices_of(a, true), devices_of(b, true)) : why;
}

// ---- which cases of each kind give key figures ----

std::vector<FigureChoice> Transfers::key_figures(const TransferCase& c, std::uint32_t lane) {
  constexpr auto rate = FigureUnit::bytes_per_s;
  if (!c.more_lanes.empty() || c.source_offset || c.target_offset || c.host_node >= 0 || is_beside(c)) return {};
  if (is_between_ranks(c)) {
    const std::string ends = c.source + '>' + c.target + (c.access == Access::staged ? ", staged" : "");
    if (c.async || c.chunk_bytes || c.pattern == Pattern::duplex) return {};
    if (c.pattern == Pattern::stream) return {{"messages one way, " + ends, Among::largest, rate}};
    return {{"smallest message, " + ends, Among::smallest}, {"largest message, " + ends, Among::largest, rate}};
  }
  const auto question = question_of(c);
  if (!question) return {};
  const std::string cold = c.cache == Cache::cold ? ", cold" : "";
  switch (*question) {
    case CopyQuestion::to_device:
    case CopyQuestion::to_host:
    case CopyQuestion::within_device:
    case CopyQuestion::within_device_cold:
    case CopyQuestion::to_peer:
    case CopyQuestion::within_host:
    case CopyQuestion::within_host_cold: return {{"copy, " + copy_way(c.direction) + cold, Among::largest, rate}};
    case CopyQuestion::both_ways:
      return {{"both ways, " + copy_way(lane ? reversed(c.direction) : c.direction), Among::largest, rate}};
    case CopyQuestion::to_device_pageable:
    case CopyQuestion::to_host_pageable: return {{"pageable copy, " + copy_way(c.direction), Among::largest, rate}};
    case CopyQuestion::to_device_blocking:
    case CopyQuestion::to_host_blocking: return {{"smallest copy, " + copy_way(c.direction), Among::smallest}};
    case CopyQuestion::to_device_queued:
    case CopyQuestion::to_host_queued:
    case CopyQuestion::to_device_write_combined:
    case CopyQuestion::within_host_both_ways:
    case CopyQuestion::there_and_back:
    case CopyQuestion::there_and_back_pageable:
    case CopyQuestion::there_and_back_in_host: break;
  }
  return {};
}

std::vector<FigureChoice> Probes::key_figures(const ProbeCase& c, std::uint32_t) {
  return description_of(c).key_figures(c);
}

std::vector<FigureChoice> Jobs::key_figures(const JobCase& c, std::uint32_t) {
  if (c.workload != Workload::none) return {};
  if (c.pool == StreamPool::fresh) return {{"jobs in fresh streams"}};
  if (c.gating == Gating::gated) return {{"copies in streams"}};
  return {};
}

std::vector<FigureChoice> Calls::key_figures(const CallCase& c, std::uint32_t) {
  if (is_beside(c)) return {};
  const auto question = question_of(c);
  if (question == CallQuestion::launch) return {{"launch alone", Among::smallest}};
  if (question == CallQuestion::launch_in_a_row) return {{"launch back to back", Among::smallest}};
  if (question == CallQuestion::signal) return {{"launch until the host sees it", Among::smallest}};
  if (c.call == Call::function) return {{fmt::format("{}, {}", c.function, npgpu::name(c.spacing))}};
  if (c.call == Call::graph_launch && c.spacing == Spacing::alone)
    return {{c.form == GraphForm::chain ? "graph launch, chain" : "graph launch, fork"}};
  return {};
}

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

// The tests of comparisons as they are made.
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
  FigureChange figure;
  const CaseCurve* curve;
  model::Part part;
};

void add_figures(std::vector<FigureOf>& all, const CaseCurve& curve, const Tolerance& tolerance) {
  for (const FigureChoice& choice : curve.figures) {
    const model::Part part = part_of_figure(curve, choice.among);
    if (part.points.empty()) continue;
    FigureChange figure;
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

// Key figures of runs of a side, as all commands have them, in the order of devices that A has.
using ValuesOfCase = std::map<std::pair<std::string, bool>, std::vector<double>>;  // by case; whether it is a rate
ValuesOfCase key_values_of(const std::vector<model::Run>& runs, std::size_t side) {
  const std::map<std::string, std::string> names = model::names_of_slots(runs);
  ValuesOfCase all;
  for (const model::Run& run : runs) {
    if (run.side != side) continue;
    std::set<std::pair<std::string, bool>> of_run;  // of several figures of a case the first: of the largest copies
    for (const HealthFinding& finding : model::health_of_devices(*run.trace, {})) {
      const auto slot = run.slots.find(finding.device);
      std::string of_case = finding.of_case;
      const std::size_t at = of_case.find(finding.device);
      if (key_figures({finding}).empty() || slot == run.slots.end() || at == std::string::npos) continue;
      of_case.replace(at, finding.device.size(), names.at(slot->second));
      const std::pair key(std::move(of_case), finding.unit != "us");
      if (of_run.insert(key).second) all[key].push_back(finding.value);
    }
  }
  return all;
}

void set_key_values(std::vector<FigureOf>& figures, Runs a, Runs b) {
  const std::vector<model::Run> runs = model::runs_of(a, b);
  for (const auto& [side, which] : {std::pair{std::size_t{0}, &Change::a}, {1, &Change::b}}) {
    const ValuesOfCase known = key_values_of(runs, side);
    for (FigureOf& one : figures)
      if (const auto found = known.find({one.curve->title, one.figure.unit != FigureUnit::us}); found != known.end())
        one.figure.*which = median(found->second);
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
    for (const FigureChange& figure : all.figures)
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
    static_cast<ComparedCase&>(of) = curve;
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
  }
  set_key_values(figures, a, b);
  for (FigureOf& one : figures) all.figures.push_back(std::move(one.figure));
  for (CaseComparison& of : all.cases) conclude(of);
  all.classes = std::move(shared.classes);
  set_shown(all);
  return all;
}

}  // namespace npgpu
