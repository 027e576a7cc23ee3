#include "netpipe/report/compare_items.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/judge/compare/classes.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

constexpr std::size_t most_items = 4;

struct Item {
  std::string text;
  double change = 0;
};

std::string plain_percent(double share) {
  return fmt::format("{:.{}f}", 100 * share, std::abs(share) < 0.0995 ? 1 : 0);
}
// "by 5.1 % (4.6 .. 5.6)".
std::string by_text(const Change& c) {
  std::string text = "by " + plain_percent(c.change) + " %";
  if (std::isfinite(c.low) && std::isfinite(c.high))
    text += fmt::format(" ({} .. {})", plain_percent(c.low), plain_percent(c.high));
  return text;
}

// " from 1 MiB": where on its curve neighbouring thirds are.
std::string sizes_text(const std::vector<PartComparison>& parts, std::size_t first, std::size_t last) {
  const bool begins = first == 0, ends = last + 1 == parts.size();
  if (begins && ends) return "";
  if (ends) return " from " + parts[first].first;
  if (begins) return " up to " + parts[last].last;
  return fmt::format(" from {} to {}", parts[first].first, parts[last].last);
}

// What is named already: by how much most of a class is slower, of those that take about as long.
class Named {
 public:
  void add(TimeClass of, const SharedChange& shared) { change_[{of, shared.band}] = shared.change; }
  // Slower, and not only as much as what is named.
  bool is_more(const Change& c, TimeClass of) const {
    const auto named = change_.find({of, DriftByTime::band(std::sqrt(c.a * c.b))});
    return c.verdict == Verdict::slower && (named == change_.end() || c.change > named->second + c.tolerance);
  }

 private:
  std::map<std::pair<TimeClass, std::size_t>, double> change_;
};

// The thirds of a case that are slower.
void add_parts(std::vector<Item>& all, const CaseComparison& of, const Named& named) {
  const auto is_it = [&](const PartComparison& part) { return named.is_more(part, of.time_class); };
  for (std::size_t first = 0; first < of.parts.size(); ++first) {
    if (!is_it(of.parts[first])) continue;
    std::size_t last = first;
    while (last + 1 < of.parts.size() && is_it(of.parts[last + 1])) ++last;
    const auto by_change = [](const PartComparison& part) { return part.change; };
    const auto [least, most] = std::ranges::minmax(std::span(of.parts).subspan(first, last - first + 1), {}, by_change);
    const std::string low = plain_percent(least.change), high = plain_percent(most.change);
    const std::string by = first == last || low == high ? by_text(most) : fmt::format("by {} to {} %", low, high);
    all.push_back({of.name + sizes_text(of.parts, first, last) + ", " + by, most.change});
    first = last;
  }
}

// The point that is slower by most, unless a third that is slower by as much is named already, with its class.
void add_point(std::vector<Item>& all, const CaseComparison& of, const Named& named) {
  const auto is_said = [&](const PointComparison& point) {
    return std::ranges::any_of(of.parts, [&](const PartComparison& part) {
      return part.verdict == Verdict::slower && point.change <= part.change + point.tolerance;
    });
  };
  const PointComparison* most = nullptr;
  for (const PointComparison& point : of.points)
    if (named.is_more(point, of.time_class) && !is_said(point) && (!most || point.change > most->change)) most = &point;
  if (most) all.push_back({fmt::format("{} at {}, {}", of.name, most->axes, by_text(*most)), most->change});
}

// The first ones, and how many more there are.
std::vector<std::string> first_of(std::vector<std::string> texts) {
  if (const std::size_t all = texts.size(); all > most_items + 1) {
    texts.resize(most_items);
    texts.push_back(fmt::format("and {} more", all - most_items));
  }
  return texts;
}

}  // namespace

std::string share_text(double share) {
  if (!std::isfinite(share)) return "-";
  if (std::abs(share) < 0.0005) return "0.0";
  return fmt::format("{:+.{}f}", 100 * share, std::abs(share) < 0.0995 ? 1 : 0);
}

std::string spaced(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', ' ');
  return text;
}

std::vector<std::string> slower_items(const Comparison& found) {
  std::vector<Item> of_classes, others;
  Named named;
  for (const ClassComparison& of : found.classes) {
    std::vector<std::string> bands;
    bool is_all = true;
    for (const SharedChange& shared : of.shared) {
      if (shared.verdict != Verdict::slower) continue;
      bands.push_back(fmt::format("{} ({})", by_text(shared), band_names[shared.band]));
      is_all = is_all && shared.sharing == shared.cases;
      named.add(of.time_class, shared);
    }
    if (!bands.empty())
      of_classes.push_back(
          {fmt::format("{} {}, {}", is_all ? "all" : "most", class_text(of.time_class), fmt::join(bands, ", "))});
  }
  for (const CaseComparison& of : found.cases) {
    const std::size_t before = others.size();
    add_parts(others, of, named);
    if (others.size() == before) add_point(others, of, named);
  }
  if (of_classes.empty() && others.empty())
    for (const FigureChange& figure : found.figures)
      if (figure.verdict == Verdict::slower) others.push_back({figure.name + ", " + by_text(figure), figure.change});
  sort_stably(others, std::ranges::greater{}, &Item::change);
  std::vector<std::string> texts;
  for (const auto* items : {&of_classes, &others})
    for (const Item& item : *items) texts.push_back(item.text);
  return first_of(std::move(texts));
}

std::vector<std::string> more_energy_items(const Comparison& found) {
  std::vector<Item> all;
  for (const EnergyChange& energy : found.energies)
    if (energy.verdict == Verdict::slower)
      all.push_back({work_text(energy.question) + ", " + by_text(energy), energy.change});
  sort_stably(all, std::ranges::greater{}, &Item::change);
  std::vector<std::string> texts;
  for (const Item& item : all) texts.push_back(item.text);
  return first_of(std::move(texts));
}

double in_energy_unit(const EnergyChange& energy, double value) {
  return is_idle(energy.question.work) ? value : value * 1e12;
}

std::vector<std::string> broken_items(const Comparison& found) {
  std::vector<std::string> texts;
  for (const CaseComparison& of : found.cases) {
    const auto is_it = [](const PointComparison& p) {
      return p.verdict == Verdict::broken || p.verdict == Verdict::no_figure;
    };
    const auto first = std::ranges::find_if(of.points, is_it);
    if (first == of.points.end()) continue;
    const auto count = static_cast<std::size_t>(std::ranges::count_if(of.points, is_it));
    texts.push_back(fmt::format("{} at {}{} ({})", of.name, first->axes,
                                count > 1 ? " and " + counted(count - 1, "more point") : "", first->note));
  }
  for (const EnergyChange& energy : found.energies)
    if (energy.verdict == Verdict::broken || energy.verdict == Verdict::no_figure)
      texts.push_back(fmt::format("energy of {} ({})", work_text(energy.question), energy.note));
  return first_of(std::move(texts));
}

// What compare() found, as JSON. Changes are of times, b/a - 1: positive is slower.

template <class Of>
inline constexpr auto reason_of = [](const Of& of) { return std::string(name(of.reason)); };  // may be none
NPGPU_FORM(Change, &T::a, &T::b, &T::change, &T::own, &T::low, &T::high, &T::cycles, &T::p, &T::tolerance, &T::shown,
           &T::verdict, called<"reason", known<reason_of<T>>>, known<&T::note>);
NPGPU_FORM(PartComparison, &T::third, &T::first, &T::last, &T::points, in_place<base<Change>>);
NPGPU_FORM(PointComparison, called<"point", &T::axes>, in_place<base<Change>>);
NPGPU_FORM(CaseComparison, &T::kind, &T::title, &T::name, &T::lane, called<"class", &T::time_class>,
           &T::trials_stand_in, &T::verdict, called<"reason", known<reason_of<T>>>, &T::parts, &T::points);
NPGPU_FORM(FigureChange, &T::name, &T::at, &T::unit, called<"class", &T::time_class>, in_place<base<Change>>);
NPGPU_FORM(EnergyChange, called<"work", [](const T& e) { return work_text(e.question); }>,
           within<&T::question, &EnergyCase::device>,
           called<"unit", [](const T& energy) { return is_idle(energy.question.work) ? "W" : "pJ"; }>,
           in_place<[](const T& energy) {
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
  std::vector<KeyFigure> key_figures{};
};
NPGPU_FORM(RunOf, &T::file, &T::run, &T::key_figures);
struct ToleranceOf {
  TimeClass time_class{};
  ByWord<names_of<Third>, double> share{};
  std::string source{};
};
NPGPU_FORM(ToleranceOf, called<"class", &T::time_class>, in_place<&T::share>, &T::source);
using CasesByVerdict = ByWord<names_of<Verdict>, std::size_t>;
NPGPU_FORM(WhoRow, &T::what, known<&T::a>, known<&T::b>, &T::differs);

namespace {

template <auto At> std::vector<RunOf> side(const ComparisonReport& of) {
  std::vector<RunOf> all;
  for (std::size_t i = 0; i < (of.*At).runs.size(); ++i)
    all.push_back({(of.*At).files[i], (of.*At).runs[i]->root, key_figures(health_of(*(of.*At).runs[i]))});
  return all;
}

std::string outcome(const ComparisonReport& of) {
  return of.refused ? "other-hardware" : std::string(name(outcome_of(of.found)));
}

std::vector<ToleranceOf> tolerances(const Comparison& found) {
  std::vector<ToleranceOf> all;
  for (const Tolerance& one : found.tolerances)
    all.push_back({static_cast<TimeClass>(all.size()), {one.share}, one.source});
  return all;
}

CasesByVerdict counts(const Comparison& found) {
  CasesByVerdict all;
  for (const CaseComparison& one : found.cases) ++all.all[static_cast<std::size_t>(one.verdict)];
  return all;
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
