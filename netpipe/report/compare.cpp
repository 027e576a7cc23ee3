// What compare() found, for people: who A and B are, the verdict, key figures, a line for each case, points on demand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "netpipe/report/compare_who.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/sheet.hpp"

namespace npgpu {

namespace {

std::string share_text(double share) {
  if (!std::isfinite(share)) return "-";
  if (std::abs(share) < 0.0005) return "0.0";
  return fmt::format("{:+.{}f}", 100 * share, std::abs(share) < 0.0995 ? 1 : 0);
}
std::string percent(double share) { return std::isfinite(share) ? share_text(share) + " %" : "-"; }
std::string interval(const Change& c) {
  return std::isfinite(c.low) ? share_text(c.low) + " .. " + share_text(c.high) : "-";
}
std::string tolerance_percent(double share) { return digits_text(100 * share, 2, 1) + " %"; }

// "slower (clock)"; a verdict that needs no reason is a word.
std::string verdict_text(Verdict verdict, Reason reason) {
  const bool coded = reason != Reason::none && verdict != Verdict::undecided && verdict != Verdict::disturbed;
  return std::string(name(verdict)) + (coded ? fmt::format(" ({})", name(reason)) : "");
}

bool is_alarming(Verdict verdict) { return verdict == Verdict::slower || verdict == Verdict::broken; }

// "41 same, 3 undecided": the verdicts that occur, the worst first; what one side alone has is said elsewhere.
std::string tally(const std::vector<CaseComparison>& cases) {
  std::vector<std::string> parts;
  for (const Verdict verdict : worst_first)
    if (const auto n = std::ranges::count(cases, verdict, &CaseComparison::verdict))
      parts.push_back(fmt::format("{} {}", n, name(verdict)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const Comparison& found) {
  const auto counts = fmt::format("{}: {}", counted(found.cases.size(), "case"), tally(found.cases));
  switch (outcome_of(found)) {
    case Outcome::broken: return "BROKEN: wrong results or no times. " + counts + ".";
    case Outcome::slower: return "B is slower than A. " + counts + ".";
    case Outcome::clock: return "B is slower than A by its clock: in time, and not in cycles. " + counts + ".";
    case Outcome::not_slower: break;
  }
  return "B is not slower than A. " + counts + ".";
}

std::string runs_text(const ComparisonOf::Side& side) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const std::string& when = side.runs[i]->root.start_time_utc;
    all.push_back(side.files[i] + (when.empty() ? "" : " of " + when));
  }
  constexpr std::size_t most = 3;
  if (all.size() <= most) return fmt::format("{}", fmt::join(all, ", "));
  return fmt::format("{} runs, {} to {}", all.size(), all.front(), all.back());
}

void identify(Sheet& sheet, const ComparisonOf& of) {
  sheet.labelled("A", runs_text(of.a));
  sheet.labelled("B", runs_text(of.b));
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
  if (!same.empty()) sheet.labelled("the same", fmt::format("{}", fmt::join(same, "; ")));
  if (rows) sheet.table(differing);
  else sheet.labelled("differs", "nothing but the time of the run");
  if (is_simulated(of)) sheet.labelled("SIMULATED", "no measurement of hardware", true);
  for (const std::string& doubt : doubts_of(of)) sheet.labelled("note", doubt);
}

void figures(Sheet& sheet, const Comparison& found) {
  if (found.figures.empty()) return;
  sheet.heading("Key figures");
  Table table(
      {left("figure"), left("at", 2), right("A"), right("B"), right("time"), right("95 %", 1), left("verdict")});
  for (const KeyFigure& f : found.figures)
    table.row({f.name, f.at, figure_text(f.a, f.unit), figure_text(f.b, f.unit), percent(f.change), interval(f),
               verdict_text(f.verdict, f.reason)});
  sheet.table(table, [&](std::size_t i) { return is_alarming(found.figures[i].verdict); });
}

// " at 132 blocks and 2 more points" where a case's verdict rests on points alone, else empty.
std::string where(const CaseComparison& of) {
  const auto behind = [&](const Change& c) { return c.verdict == of.verdict && c.reason == of.reason; };
  if (std::ranges::any_of(of.parts, behind)) return "";
  const auto first = std::ranges::find_if(of.points, behind);
  const auto n = std::ranges::count_if(of.points, behind);
  if (n == 0 || n == std::ssize(of.points)) return "";
  return fmt::format("{} at {}{}", verdict_text(of.verdict, of.reason), first->axes,
                     n > 1 ? " and " + counted(static_cast<std::size_t>(n - 1), "more point") : "");
}

// What a part's verdict is, behind its change.
char mark_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::slower: return '!';
    case Verdict::undecided: return '?';
    case Verdict::disturbed: return 'd';
    case Verdict::faster: return '<';
    default: return ' ';
  }
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
    if (point.verdict == Verdict::broken) notes.insert(point.note);
  return notes;
}

// Nobody needs to look at it. Of an undecided case only the interval is too wide.
bool is_unremarkable(const CaseComparison& of) {
  if (of.verdict == Verdict::undecided)
    return std::ranges::all_of(of.parts, [](const Change& c) { return std::abs(c.change) <= c.tolerance; });
  return of.verdict == Verdict::same || of.verdict == Verdict::only_a || of.verdict == Verdict::only_b;
}

void cases(Sheet& sheet, const Comparison& found, const ComparisonDetail& detail) {
  sheet.heading("Cases: change of the time in % in the small, middle and large third of the sizes or shapes");
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
               verdict_text(of.verdict, of.reason)});
    if (const std::string at = where(of); !at.empty()) notes.insert(of.title + ": " + at);
  }
  if (!rows.empty()) sheet.table(table, [&](std::size_t i) { return is_alarming(rows[i]->verdict); });
  const auto marked = [&](Verdict verdict) {
    return std::ranges::any_of(rows, [&](const CaseComparison* of) {
      return std::ranges::find(of->parts, verdict, &Change::verdict) != of->parts.end();
    });
  };
  std::vector<std::string> marks;
  for (const Verdict verdict : worst_first)
    if (mark_of(verdict) != ' ' && marked(verdict))
      marks.push_back(fmt::format("{} {}", mark_of(verdict), name(verdict)));
  if (!marks.empty()) sheet.note(fmt::format("{}", fmt::join(marks, "   ")));
  for (std::size_t i = 0; i < folded.size(); ++i)
    if (folded[i])
      sheet.note(
          fmt::format("{} {}{}, not shown (--all)", counted(folded[i], "case"), names_of<Verdict>[i],
                      static_cast<Verdict>(i) == Verdict::undecided ? " with changes within the tolerance" : ""));
  for (const std::string& note : notes) sheet.note(note);
}

void points(Sheet& sheet, const Comparison& found, const ComparisonDetail& detail) {
  for (const CaseComparison& of : found.cases) {
    Table table({left("point"), decimal("A us"), decimal("B us"), right("time"), right("95 %", 1), left("verdict")});
    std::vector<Verdict> rows;
    for (const PointComparison& p : of.points) {
      const bool differs = is_alarming(p.verdict) || p.verdict == Verdict::faster;
      if (!differs && !detail.every_case) continue;
      rows.push_back(p.verdict);
      table.row({p.axes, digits_text(p.a), digits_text(p.b), percent(p.change), interval(p),
                 verdict_text(p.verdict, p.reason)});
    }
    if (rows.empty()) continue;
    sheet.heading(of.title);
    sheet.table(table, [&](std::size_t i) { return is_alarming(rows[i]); });
  }
}

// "3.0, 3.0, 1.0 %"; one number where thirds have the same.
std::string thirds_text(const Tolerance& t) {
  if (std::ranges::count(t.share, t.share[0]) == std::ssize(t.share)) return tolerance_percent(t.share[0]);
  return fmt::format("{}, {}, {} %", digits_text(100 * t.of(Third::small), 2, 1),
                     digits_text(100 * t.of(Third::middle), 2, 1), digits_text(100 * t.of(Third::large), 2, 1));
}

// "device-copies 3.0, 3.0, 1.0 %; calls 5.0 % (default; learned from 10 runs of A)"
std::string tolerances_text(const Comparison& found) {
  std::vector<std::string> parts;
  std::set<TimeClass> classes;
  for (const CaseComparison& of : found.cases) classes.insert(of.time_class);
  std::set<std::string> sources;
  for (const TimeClass one : classes) {
    const Tolerance& t = found.tolerances[static_cast<std::size_t>(one)];
    sources.insert(t.source);
    parts.push_back(fmt::format("{} {}", name(one), thirds_text(t)));
  }
  return fmt::format("{} ({})", fmt::join(parts, "; "), fmt::join(sources, "; "));
}

void explain(Sheet& sheet, const Comparison& found) {
  sheet.heading("How it was judged");
  sheet.labelled("tolerances", tolerances_text(found) + "; single points: four times as much");
  sheet.labelled(
      "slower",
      "p below 0.01 after correction for the number of comparisons (Welch 1947, Holm 1979) and a longer time "
      "by more than the tolerance; with (clock) a kernel's time grew so and its cycles did not. Where times take one "
      "of "
      "two values, p is of how often each side takes the longer one (Fisher 1934)");
  sheet.labelled("same", "the interval of 95 % lies within the tolerance");
  sheet.labelled("undecided", "neither: more rounds or runs would tell");
}

void compose(Sheet& sheet, const ComparisonOf& of, const ComparisonDetail& detail) {
  identify(sheet, of);
  if (of.refused) {
    sheet.verdict("Not compared: " + of.found.other_hardware + " (--other-hardware compares them all the same).", true);
    return;
  }
  if (!of.found.other_hardware.empty()) sheet.labelled("WARNING", of.found.other_hardware, true);
  sheet.verdict(headline(of.found), outcome_of(of.found) != Outcome::not_slower);
  figures(sheet, of.found);
  cases(sheet, of.found, detail);
  if (detail.points) points(sheet, of.found, detail);
  explain(sheet, of.found);
}

}  // namespace

void compare_text(std::ostream& out, const ComparisonOf& of, const ComparisonDetail& detail, const TextStyle& style) {
  TextSheet sheet(style);
  compose(sheet, of, detail);
  out << sheet.page.text;
}

void compare_markdown(std::ostream& out, const ComparisonOf& of, const ComparisonDetail& detail) {
  MarkdownSheet sheet;
  compose(sheet, of, detail);
  out << sheet.text;
}

}  // namespace npgpu
