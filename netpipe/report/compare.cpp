// What compare() found, for people: who A and B are, the verdict, key figures, a line for each case, points on demand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "netpipe/judge/compare/classes.hpp"
#include "netpipe/report/compare_items.hpp"
#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"

namespace npgpu {

namespace {

std::string percent(double share) { return std::isfinite(share) ? share_text(share) + " %" : "-"; }
constexpr double any = 10;  // from there on a bound says only that nothing would have been found
std::string interval(const Change& c) {
  return std::isfinite(c.low) ? share_text(c.low) + " .. " + (c.high > any ? "over 1000" : share_text(c.high)) : "-";
}
// "2.5 .. 18 %": of the most and the least steady of its cases.
std::string shown_text(const ClassComparison& of) {
  if (!std::isfinite(of.least_shown)) return "-";
  const auto text = [](double share) { return share > any ? "over 1000" : digits_text(100 * share, 2, 1); };
  return text(of.least_shown) + (of.most_shown > of.least_shown ? " .. " + text(of.most_shown) : "") + " %";
}
std::string tolerance_percent(double share) { return digits_text(100 * share, 2, 1) + " %"; }

std::string word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::only_a: return "only in A";
    case Verdict::only_b: return "only in B";
    default: return spaced(name(verdict));
  }
}
// "slower (clock)"; a verdict that needs no reason is a word.
std::string verdict_text(Verdict verdict, Reason reason) {
  const bool coded = reason != Reason::none && verdict != Verdict::cannot_tell && verdict != Verdict::disturbed;
  return word_of(verdict) + (coded ? fmt::format(" ({})", name(reason)) : "");
}

bool is_alarming(Outcome outcome) {
  return outcome != Outcome::not_judged && outcome != Outcome::cannot_tell && outcome != Outcome::not_slower;
}
bool is_alarming(Verdict verdict) {
  return verdict == Verdict::slower || verdict == Verdict::broken || verdict == Verdict::no_figure;
}
Health judged(Verdict verdict) { return is_alarming(verdict) ? Health::fail : Health::pass; }

// "41 same, 3 cannot tell": the verdicts that occur, the worst first; what one side alone has is said elsewhere.
std::string tally(const std::vector<CaseComparison>& cases) {
  std::vector<std::string> parts;
  for (const Verdict verdict : worst_first)
    if (const auto n = std::ranges::count(cases, verdict, &CaseComparison::verdict))
      parts.push_back(fmt::format("{} {}", n, word_of(verdict)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// " 12 points of these cases are only in A.": of cases that both have.
std::string points_of_one_side(const Comparison& found) {
  std::string text;
  for (const Verdict one : {Verdict::only_a, Verdict::only_b}) {
    std::ptrdiff_t points = 0;
    for (const CaseComparison& of : found.cases)
      if (!is_of_one_side(of.verdict)) points += std::ranges::count(of.points, one, &PointComparison::verdict);
    if (points)
      text += fmt::format(" {} of these cases {} {}.", counted(static_cast<std::size_t>(points), "point"),
                          points > 1 ? "are" : "is", word_of(one));
  }
  return text;
}

// How many cases are not slower, and how sure that is.
std::string not_slower(const Comparison& found) {
  if (found.cases.empty()) return "Energies were compared, and nothing that takes time.";
  const auto judged = static_cast<std::size_t>(std::ranges::count_if(found.cases, is_judged));
  std::string text = "B is not slower than A";
  if (judged < found.cases.size())
    text += fmt::format(" in the {} that both have undisturbed", counted(judged, "case"));
  const auto untold = std::ranges::count(found.cases, Verdict::cannot_tell, &CaseComparison::verdict);
  if (untold > 0 || !points_of_one_side(found).empty()) text += ", as far as these runs can tell";
  return text + '.';
}

std::string headline(const Comparison& found) {
  std::string counts;
  if (!found.cases.empty()) counts = fmt::format(" {}: {}.", counted(found.cases.size(), "case"), tally(found.cases));
  counts += points_of_one_side(found);
  if (const auto more = more_energy_items(found); !more.empty())
    counts += fmt::format(" It takes more energy for: {}.", fmt::join(more, "; "));
  const auto items = [&] { return fmt::format("{}", fmt::join(slower_items(found), "; ")); };
  switch (outcome_of(found)) {
    case Outcome::broken:
      return fmt::format("BROKEN: wrong results or no figure in: {}.", fmt::join(broken_items(found), "; ")) + counts;
    case Outcome::cards:
      return fmt::format("Between these two cards, not over time: B's card is slower than A's in: {}.", items()) +
             counts;
    case Outcome::slower: return fmt::format("B is slower than A in: {}.", items()) + counts;
    case Outcome::clock:
      return fmt::format("B is slower than A by its clock, in time and not in cycles, in: {}.", items()) + counts;
    case Outcome::not_judged:
      return "Whether B is slower than A cannot be told: no case is undisturbed in both." + counts;
    case Outcome::cannot_tell:
    case Outcome::not_slower: break;
  }
  return not_slower(found) + counts;
}

std::string runs_text(const ComparisonReport::Side& side) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const std::string& when = side.runs[i]->root.start_time_utc;
    all.push_back(side.files[i] + (when.empty() ? "" : " of " + when));
  }
  constexpr std::size_t most = 3;
  if (all.size() <= most) return fmt::format("{}", fmt::join(all, ", "));
  return fmt::format("{} runs, {} to {}", all.size(), all.front(), all.back());
}

void add_table(Document& doc, Table table) { doc.table(std::move(table)); }

void identify(Document& doc, const ComparisonReport& of) {
  if (!of.found.other_cards.empty())
    doc.labelled("TWO CARDS", of.found.other_cards +
                                  ": what differs may be the cards' own, as healthy ones of one model differ by "
                                  "a few percent" +
                                  (of.found.judges_cards ? "" : "; the exit code counts it with --other-hardware"));
  doc.labelled("A", runs_text(of.a));
  doc.labelled("B", runs_text(of.b));
  Table differing({left("differs"), left("A"), left("B")});
  std::vector<std::string> same;
  std::size_t rows = 0;
  for (const WhoRow& row : who(of)) {
    if (row.differs()) {
      differing.row({row.what, row.a.empty() ? "-" : row.a, row.b.empty() ? "-" : row.b});
      ++rows;
    } else {
      same.push_back(row.what + ' ' + row.a);
    }
  }
  if (!same.empty()) doc.labelled("the same", fmt::format("{}", fmt::join(same, "; ")));
  if (rows) add_table(doc, std::move(differing));
  else doc.labelled("differs", "nothing but the time of the run");
  if (is_simulated(of)) doc.labelled("SIMULATED", "no measurement of hardware", true);
  for (const std::string& doubt : doubts_of(of)) doc.labelled("note", doubt);
}

// What a part's verdict is, behind its change.
char mark_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::slower: return '!';
    case Verdict::cannot_tell: return '?';
    case Verdict::disturbed: return 'd';
    case Verdict::faster: return '<';
    default: return ' ';
  }
}

// A line for each class: what all of its points changed by, and what else would have been found.
void classes(Document& doc, const Comparison& found) {
  if (found.classes.empty()) return;
  doc.heading("Classes: change of the time in %, in common to all points that take about as long");
  std::vector<Column> columns{left("class")};
  for (const std::string_view band : band_names) columns.push_back(right(std::string(band)));
  columns.push_back(right("would have been found"));
  Table table(std::move(columns));
  for (const ClassComparison& of : found.classes) {
    std::vector<std::string> cells{class_text(of.time_class)};
    for (std::size_t band = 0; band < band_names.size(); ++band) {
      const auto shared = std::ranges::find(of.shared, band, &SharedChange::band);
      cells.push_back(shared == of.shared.end() ? "" : share_text(shared->change) + mark_of(shared->verdict));
    }
    cells.push_back(shown_text(of));
    table.row(std::move(cells), std::ranges::find(of.shared, Verdict::slower, &Change::verdict) != of.shared.end()
                                    ? Health::fail
                                    : Health::pass);
  }
  add_table(doc, std::move(table));
  doc.note(
      "would have been found: the smallest change that nine of ten such pairs of runs would show, in the steadiest "
      "case "
      "and in the least steady one; a smaller change may be there");
}

void figures(Document& doc, const Comparison& found) {
  if (found.figures.empty()) return;
  doc.heading("Key figures");
  Table table(
      {left("figure"), left("at", 2), right("A"), right("B"), right("time"), right("own, 95 %", 1), left("verdict")});
  for (const FigureChange& f : found.figures)
    table.row({f.name, f.at, figure_text(f.a, f.unit), figure_text(f.b, f.unit), percent(f.change), interval(f),
               verdict_text(f.verdict, f.reason)},
              judged(f.verdict));
  add_table(doc, std::move(table));
}

std::string energy_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::slower: return "more";
    case Verdict::faster: return "less";
    default: return word_of(verdict);
  }
}

void energies(Document& doc, const Comparison& found) {
  if (found.energies.empty()) return;
  doc.heading("Energy of an operation or a byte over idle in pJ, and of idle in W: change in %");
  Table table(
      {left("work"), left("device"), decimal("A"), decimal("B"), right("change"), right("95 %", 1), left("verdict")});
  std::set<std::string> notes;
  bool is_any = false;
  for (const EnergyChange& e : found.energies) {
    if (is_of_one_side(e.verdict)) continue;
    is_any = true;
    table.row({work_text(e.question), e.question.device, digits_text(in_energy_unit(e, e.a)),
               digits_text(in_energy_unit(e, e.b)), percent(e.change), interval(e), energy_word(e.verdict)},
              e.verdict == Verdict::broken ? Health::fail : Health::pass);
    if (!e.note.empty()) notes.insert(work_text(e.question) + ": " + e.note);
  }
  if (is_any) {
    add_table(doc, std::move(table));
    doc.note(fmt::format("changes above {} matter; none of them makes B slower",
                         tolerance_percent(found.energies.front().tolerance)));
  }
  for (const Verdict one : {Verdict::only_a, Verdict::only_b})
    if (const auto n = std::ranges::count(found.energies, one, &EnergyChange::verdict))
      doc.note(fmt::format("{} {}", counted(static_cast<std::size_t>(n), "work"), word_of(one)));
  for (const std::string& note : notes) doc.note(note);
}

// " at 132 blocks and 2 more points" where a case's verdict rests on points alone, else empty.
std::string where(const CaseComparison& of) {
  const auto behind = [&](const Change& c) { return c.verdict == of.verdict && c.reason == of.reason; };
  if (std::ranges::any_of(of.parts, behind)) return "";
  const auto first = std::ranges::find_if(of.points, behind);
  const auto n = std::ranges::count_if(of.points, behind);
  if (n == 0 || n == std::ssize(of.points)) return "";
  return fmt::format("{} at {}{}", word_of(of.verdict), first->axes,
                     n > 1 ? " and " + counted(static_cast<std::size_t>(n - 1), "more point") : "");
}

std::string part_change(const CaseComparison& of, Third third) {
  for (const PartComparison& part : of.parts)
    if (part.third == third || (part.third == Third::all && third == Third::middle))
      return share_text(part.change) + mark_of(part.verdict);
  return "";
}

// Notes of points and parts, each once: who disturbed them, why they are broken.
std::set<std::string> notes_of(const CaseComparison& of) {
  std::set<std::string> notes;
  for (const PartComparison& part : of.parts)
    if (!part.note.empty()) notes.insert(part.note);
  for (const PointComparison& point : of.points)
    if (point.verdict == Verdict::broken || point.verdict == Verdict::no_figure) notes.insert(point.note);
  return notes;
}

// Nobody needs to look at it. Where the verdict is "cannot tell", only the interval is too wide.
bool is_unremarkable(const CaseComparison& of) {
  if (of.verdict == Verdict::cannot_tell)
    return std::ranges::all_of(of.parts, [](const Change& c) { return !(std::abs(c.own) > c.tolerance); });
  return of.verdict == Verdict::same || is_of_one_side(of.verdict);
}

void cases(Document& doc, const Comparison& found, const ComparisonDetail& detail) {
  doc.heading("Cases: change of the time in % in the small, middle and large third of the sizes or shapes");
  Table table({left("case"), right("small"), right("middle"), right("large"), left("verdict")});
  std::vector<const CaseComparison*> rows;
  std::array<std::size_t, names_of<Verdict>.size()> folded{};
  std::set<std::string> notes;
  for (const CaseComparison& of : found.cases) {
    if (is_unremarkable(of) && !detail.every_case) {
      ++folded[static_cast<std::size_t>(of.verdict)];
      continue;
    }
    rows.push_back(&of);
    notes.merge(notes_of(of));
    table.row({of.title, part_change(of, Third::small), part_change(of, Third::middle), part_change(of, Third::large),
               verdict_text(of.verdict, of.reason) + (where(of).empty() ? "" : ", in points")},
              judged(of.verdict));
    if (const std::string at = where(of); !at.empty()) notes.insert(of.title + ": " + at);
  }
  if (!rows.empty()) add_table(doc, std::move(table));
  const auto marked = [&](Verdict verdict) {
    return std::ranges::any_of(rows, [&](const CaseComparison* of) {
      return std::ranges::find(of->parts, verdict, &Change::verdict) != of->parts.end();
    });
  };
  std::vector<std::string> marks;
  for (const Verdict verdict : worst_first)
    if (mark_of(verdict) != ' ' && marked(verdict))
      marks.push_back(fmt::format("{} {}", mark_of(verdict), word_of(verdict)));
  if (!marks.empty()) doc.note(fmt::format("{}", fmt::join(marks, "   ")));
  for (std::size_t i = 0; i < folded.size(); ++i)
    if (folded[i])
      doc.note(fmt::format("{}: {}{}, not shown (--all)", counted(folded[i], "case"), word_of(static_cast<Verdict>(i)),
                           static_cast<Verdict>(i) == Verdict::cannot_tell ? ", changed by no more than matters" : ""));
  for (const std::string& note : notes) doc.note(note);
}

void points(Document& doc, const Comparison& found, const ComparisonDetail& detail) {
  for (const CaseComparison& of : found.cases) {
    Table table({left("point"), decimal("A us"), decimal("B us"), right("time"), right("95 %", 1), left("verdict")});
    bool is_any = false;
    for (const PointComparison& p : of.points) {
      const bool differs = is_alarming(p.verdict) || p.verdict == Verdict::faster;
      if (!differs && !detail.every_case) continue;
      is_any = true;
      table.row({p.axes, digits_text(p.a), digits_text(p.b), percent(p.change), interval(p),
                 verdict_text(p.verdict, p.reason)},
                judged(p.verdict));
    }
    if (!is_any) continue;
    doc.heading(of.title);
    add_table(doc, std::move(table));
  }
}

// "3.0, 3.0, 1.0 %"; one number where thirds have the same.
std::string thirds_text(const Tolerance& t) {
  if (std::ranges::count(t.share, t.share[0]) == std::ssize(t.share)) return tolerance_percent(t.share[0]);
  return fmt::format("{}, {}, {} %", digits_text(100 * t.of(Third::small), 2, 1),
                     digits_text(100 * t.of(Third::middle), 2, 1), digits_text(100 * t.of(Third::large), 2, 1));
}

// "device copies 3.0, 3.0, 1.0 %; calls 5.0 % (default)"
std::string tolerances_text(const Comparison& found) {
  std::vector<std::string> parts;
  std::set<TimeClass> classes;
  for (const CaseComparison& of : found.cases) classes.insert(of.time_class);
  std::set<std::string> sources;
  for (const TimeClass one : classes) {
    const Tolerance& t = found.tolerances[static_cast<std::size_t>(one)];
    sources.insert(t.source);
    parts.push_back(fmt::format("{} {}", class_text(one), thirds_text(t)));
  }
  return fmt::format("{} ({})", fmt::join(parts, "; "), fmt::join(sources, "; "));
}

void explain(Document& doc, const Comparison& found) {
  doc.heading("How it was judged");
  doc.labelled("what matters", "changes above " + tolerances_text(found) + "; of single points, four times as much");
  doc.labelled("own",
               "what is left of a change when what its class has in common may be none or all of it; a change "
               "of a class that runs of one machine do not show counts in full");
  doc.labelled("slower",
               "p below 0.01 after correction for the number of comparisons (Welch 1947, Holm 1979), and its own "
               "change is longer than matters; runs differ by more than their rounds show, and that is in p and "
               "interval. With (clock) a kernel's time grew so and its cycles did not. Where times take one of two "
               "values, p is of how often each side takes the longer one (Fisher 1934)");
  doc.labelled("same", "the interval of 95 % holds no change that matters");
  doc.labelled("cannot tell", "neither: more rounds or runs would decide");
}

Document compare_document(const ComparisonReport& of, const ComparisonDetail& detail) {
  Document doc;
  identify(doc, of);
  if (of.refused) {
    doc.add(Document::Verdict{
        "Not compared: " + of.found.other_hardware + " (--other-hardware compares them all the same).", Health::fail});
    return doc;
  }
  if (!of.found.other_hardware.empty()) doc.labelled("WARNING", of.found.other_hardware, true);
  doc.add(Document::Verdict{headline(of.found), is_alarming(outcome_of(of.found)) ? Health::fail : Health::pass});
  classes(doc, of.found);
  figures(doc, of.found);
  energies(doc, of.found);
  if (!of.found.cases.empty()) cases(doc, of.found, detail);
  if (detail.points) points(doc, of.found, detail);
  if (!of.found.cases.empty()) explain(doc, of.found);
  return doc;
}

}  // namespace

void compare_text(std::ostream& out, const ComparisonReport& of, const ComparisonDetail& detail,
                  const TextStyle& style) {
  out << to_text(compare_document(of, detail), style);
}

void compare_markdown(std::ostream& out, const ComparisonReport& of, const ComparisonDetail& detail) {
  out << to_markdown(compare_document(of, detail));
}

}  // namespace npgpu
