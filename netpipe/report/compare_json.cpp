// What compare() found, as JSON. Changes are of times, b/a - 1: positive is slower.
#include <algorithm>

#include "netpipe/model/compare/who.hpp"
#include "netpipe/report/compare_items.hpp"
#include "netpipe/report/json.hpp"

namespace npgpu {

template <class Of>
inline constexpr auto reason_of = [](const Of& of) { return std::string(name(of.reason)); };  // may be none
NPGPU_FORM(Change, &T::a, &T::b, &T::change, &T::own, &T::low, &T::high, &T::cycles, &T::p, &T::tolerance, &T::shown,
           &T::verdict, called<"reason", known<reason_of<T>>>, known<&T::note>);
NPGPU_FORM(PartComparison, &T::third, &T::first, &T::last, &T::points, in_place<base<Change>>);
NPGPU_FORM(PointComparison, called<"point", &T::axes>, in_place<base<Change>>);
NPGPU_FORM(CaseComparison, &T::kind, &T::title, &T::name, &T::lane, called<"class", &T::time_class>,
           &T::trials_stand_in, &T::verdict, called<"reason", known<reason_of<T>>>, &T::parts, &T::points);
NPGPU_FORM(KeyFigure, &T::name, &T::at, &T::unit, called<"class", &T::time_class>, in_place<base<Change>>);
NPGPU_FORM(EnergyChange, called<"work", [](const T& e) { return work_text(e.question); }>,
           within<&T::question, &EnergyCase::device>, called<"unit", &energy_unit>, in_place<[](const T& energy) {
             Change shown = energy;
             shown.a = in_energy_unit(energy, energy.a);
             shown.b = in_energy_unit(energy, energy.b);
             return shown;
           }>);
NPGPU_FORM(SharedChange, &T::band, &T::points, &T::cases, &T::sharing, in_place<base<Change>>);
NPGPU_FORM(ClassComparison, called<"class", &T::time_class>, &T::least_shown, &T::most_shown, &T::shared);

struct RunOf {
  std::string file{};
  TraceRoot run{};
};
NPGPU_FORM(RunOf, &T::file, &T::run);
NPGPU_FORM(WhoRow, &T::what, known<&T::a>, known<&T::b>, &T::differs);

namespace {

template <auto At> std::vector<RunOf> side(const ComparisonReport& of) {
  std::vector<RunOf> all;
  for (std::size_t i = 0; i < (of.*At).runs.size(); ++i) all.push_back({(of.*At).files[i], (of.*At).runs[i]->root});
  return all;
}

std::string outcome(const ComparisonReport& of) {
  return of.refused ? "other-hardware" : std::string(name(outcome_of(of.found)));
}

// One for each class, with a share for each third.
Json tolerances(const Comparison& found, JsonOf as) {
  std::vector<Json> all;
  for (std::size_t i = 0; i < found.tolerances.size(); ++i) {
    Json& one = all.emplace_back(empty_object(as));
    add_member(one, "class", form_of(static_cast<TimeClass>(i), as), as);
    for (std::size_t third = 0; third < names_of<Third>.size(); ++third)
      add_member(one, names_of<Third>[third], form_of(found.tolerances[i].share[third], as), as);
    add_member(one, "source", form_of(found.tolerances[i].source, as), as);
  }
  return as == JsonOf::schema ? Json{{"type", "array"}, {"items", all.front()}} : Json(all);
}

// Cases by verdict.
Json counts(const Comparison& found, JsonOf as) {
  Json object = empty_object(as);
  for (std::size_t i = 0; i < names_of<Verdict>.size(); ++i) {
    const auto cases = std::ranges::count(found.cases, static_cast<Verdict>(i), &CaseComparison::verdict);
    add_member(object, names_of<Verdict>[i], form_of(cases, as), as);
  }
  return object;
}

std::optional<Comparison> compared(const ComparisonReport& of) {
  return of.refused ? std::nullopt : std::optional(of.found);
}

}  // namespace

NPGPU_FORM(Comparison, called<"tolerances", &tolerances>, &T::classes, called<"counts", &counts>, &T::figures,
           &T::energies, &T::cases);
NPGPU_FORM(ComparisonReport, called<"outcome", &outcome>, known<within<&T::found, &Comparison::other_hardware>>,
           known<within<&T::found, &Comparison::other_cards>>, called<"a", &side<&T::a>>, called<"b", &side<&T::b>>,
           called<"who", &who>, called<"notes", &doubts_of>, in_place<&compared>);

void compare_json(std::ostream& out, const ComparisonReport& of) { write_document(out, "npgpu-compare", 5, of); }

}  // namespace npgpu
