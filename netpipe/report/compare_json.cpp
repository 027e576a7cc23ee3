// What compare() found, as JSON. Keys are stable; null is what is not known. Changes are of times, b/a - 1: positive is
// slower.
//
//   { "document": "npgpu-compare", "version": 5,
//     "outcome": "not-slower" | "cannot-tell" | "slower" | "clock" | "between-cards" | "broken" | "other-hardware",
//     "other_hardware": null, or a sentence,
//     "other_cards": null, or which cards of one model A and B are, if they are two,
//     "a": [ { file, run: {...} } ], "b": as "a",
//     "who": [ { what, a, b, differs } ], "notes": [ ... ],
//     "tolerances": [ { class, small, middle, large, all, source } ]   by third of a curve,
//     "classes": [ { class, least_shown, most_shown (the smallest changes that would have been found, in its steadiest
//                    and unsteadiest case), shared: [ { band (of times: 0 below 10 us, 1 100 us, 2 1 ms, 3 above),
//                    points, cases, sharing (where it is slower or faster: of the cases, those that changed by half as
//                    much or more), CHANGE } ] } ]   what all points of the class have in common
//     "counts": { "same": 41, ... }  cases by verdict,
//     "figures": [ { name, at, unit, class, CHANGE } ]   a and b in that unit
//     "energies": [ { work, device, unit, CHANGE } ]   of an operation or a byte over idle (pJ), of idle W; `slower` is
//                                                      more energy
//     "cases": [ { kind, title, name, lane, class, trials_stand_in, verdict, reason,
//                  parts: [ { third, first, last, points, CHANGE } ],
//                  points: [ { point, CHANGE } ] } ] }
//
//   CHANGE: a, b (us), change (b/a - 1), own (what of it is not its class's, at least), low, high (95 %, of own),
//   cycles (change in cycles), p (corrected), tolerance, shown (the smallest that would have been found), verdict,
//   reason, note
#include <algorithm>

#include "netpipe/model/compare/who.hpp"
#include "netpipe/report/compare_items.hpp"
#include "netpipe/report/json.hpp"

namespace npgpu {

namespace {

void add_change(Json& json, const Change& c) {
  constexpr std::pair<const char*, double Change::*> numbers[] = {
      {"a", &Change::a},           {"b", &Change::b},     {"change", &Change::change},
      {"own", &Change::own},       {"low", &Change::low}, {"high", &Change::high},
      {"cycles", &Change::cycles}, {"p", &Change::p},     {"tolerance", &Change::tolerance},
      {"shown", &Change::shown}};
  for (const auto& [key, number] : numbers) json[key] = json_of(c.*number);
  json["verdict"] = json_of(c.verdict);
  json["reason"] = or_null(std::string(name(c.reason)));
  json["note"] = or_null(c.note);
}

Json part_json(const PartComparison& part) {
  Json json{entry("third", part.third), entry("first", part.first), entry("last", part.last),
            entry("points", part.points)};
  add_change(json, part);
  return json;
}
Json compared_point_json(const PointComparison& point) {
  Json json({entry("point", point.axes)});
  add_change(json, point);
  return json;
}
Json key_figure_json(const KeyFigure& figure) {
  Json json{entry("name", figure.name), entry("at", figure.at), entry("unit", figure.unit),
            entry("class", name(figure.time_class))};
  add_change(json, figure);
  return json;
}
Json energy_change_json(const EnergyChange& energy) {
  Json json{entry("work", work_text(energy.question)), entry("device", energy.question.device),
            entry("unit", energy_unit(energy))};
  EnergyChange shown = energy;
  shown.a = in_energy_unit(energy, energy.a);
  shown.b = in_energy_unit(energy, energy.b);
  add_change(json, shown);
  return json;
}
Json class_json(const ClassComparison& of) {
  return {entry("class", of.time_class), entry("least_shown", of.least_shown), entry("most_shown", of.most_shown),
          entry("shared", array_of(of.shared, [](const SharedChange& shared) {
                  Json json{entry("band", shared.band), entry("points", shared.points), entry("cases", shared.cases),
                            entry("sharing", shared.sharing)};
                  add_change(json, shared);
                  return json;
                }))};
}
Json compared_case_json(const CaseComparison& of) {
  return {entry("kind", of.kind),
          entry("title", of.title),
          entry("name", of.name),
          entry("lane", of.lane),
          entry("class", of.time_class),
          entry("trials_stand_in", of.trials_stand_in),
          entry("verdict", of.verdict),
          entry("reason", or_null(std::string(name(of.reason)))),
          entry("parts", array_of(of.parts, part_json)),
          entry("points", array_of(of.points, compared_point_json))};
}

Json side_json(const ComparisonReport::Side& side) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < side.runs.size(); ++i)
    runs.push_back({entry("file", side.files[i]), entry("run", side.runs[i]->root)});
  return runs;
}

Json who_json(const WhoRow& row) {
  return {entry("what", row.what), entry("a", or_null(row.a)), entry("b", or_null(row.b)),
          Json::array({"differs", row.differs()})};
}

Json tolerances_json(const Tolerances& tolerances) {
  Json all = Json::array();
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    Json one({entry("class", names_of<TimeClass>[i])});
    for (std::size_t third = 0; third < names_of<Third>.size(); ++third)
      one[std::string(names_of<Third>[third])] = tolerances[i].share[third];
    one["source"] = tolerances[i].source;
    all.push_back(std::move(one));
  }
  return all;
}

Json counts_json(const std::vector<CaseComparison>& cases) {
  Json counts = Json::object();
  for (std::size_t i = 0; i < names_of<Verdict>.size(); ++i)
    counts[std::string(names_of<Verdict>[i])] =
        std::ranges::count(cases, static_cast<Verdict>(i), &CaseComparison::verdict);
  return counts;
}

}  // namespace

void compare_json(std::ostream& out, const ComparisonReport& of) {
  const Comparison& found = of.found;
  const std::string outcome = of.refused ? "other-hardware" : std::string(name(outcome_of(found)));
  Json json{entry("document", "npgpu-compare"),
            entry("version", 5),
            entry("outcome", outcome),
            entry("other_hardware", or_null(found.other_hardware)),
            entry("other_cards", or_null(found.other_cards)),
            entry("a", side_json(of.a)),
            entry("b", side_json(of.b)),
            entry("who", array_of(who(of), who_json)),
            entry("notes", doubts_of(of))};
  if (!of.refused) {
    json["tolerances"] = tolerances_json(found.tolerances);
    json["classes"] = array_of(found.classes, class_json);
    json["counts"] = counts_json(found.cases);
    json["figures"] = array_of(found.figures, key_figure_json);
    json["energies"] = array_of(found.energies, energy_change_json);
    json["cases"] = array_of(found.cases, compared_case_json);
  }
  write_json(out, json, 1);
}

}  // namespace npgpu
