// What compare() found: as text, and as JSON. Keys are stable; null is what one trace does not have.
//
//   { "document": "npgpu-compare", "version": 3, "threshold": 0.05,
//     "a": { file, run: {...}, devices: [ { name, uuid } ] }, "b": as "a", "warnings": [ ... ],
//     "counts": { "same": 54, "faster": 0, "slower": 2, "unclear": 0, "broken": 0, "only-a": 0, "only-b": 0 },
//     "points": [ { kind, title, point, lane, a_us, b_us, change (b/a - 1, positive is slower), verdict, note } ] }
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

using Points = std::span<const PointComparison>;

std::size_t count(Points points, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(points, verdict, &PointComparison::verdict));
}

bool shown(const PointComparison& p) {
  return p.verdict != Verdict::same && p.verdict != Verdict::only_a && p.verdict != Verdict::only_b;
}

// "54 same, 2 slower": the verdicts that occur, the worst first.
std::string tally(Points points) {
  constexpr std::array order{Verdict::broken, Verdict::slower, Verdict::faster, Verdict::unclear,
                             Verdict::same,   Verdict::only_a, Verdict::only_b};
  static_assert(order.size() == names_of<Verdict>.size());
  std::vector<std::string> parts;
  for (const Verdict verdict : order)
    if (const std::size_t n = count(points, verdict)) parts.push_back(fmt::format("{} {}", n, name(verdict)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string change_text(double change) { return std::isfinite(change) ? fmt::format("{:+.1f} %", 100 * change) : "-"; }

std::string times_text(Points points) {
  std::vector<double> changes;
  for (const PointComparison& p : points)
    if (std::isfinite(p.change)) changes.push_back(p.change);
  if (changes.empty()) return {};
  const auto [min, max] = std::ranges::minmax(changes);
  return fmt::format("; times {} in the median, {} .. {}", change_text(median(changes)), change_text(min),
                     change_text(max));
}

// ---- what A and B are -----------------------------------------------------------------------------------------------

template <class Visit> void each_series(const Trace& trace, Visit visit) {
  for_each_kind([&]<class K>() {
    for (const SeriesInfo& series : trace.of<K>()) visit(series);
  });
}

// What its series have there, each once.
std::set<std::string> all_of(const Trace& trace, std::string SeriesInfo::*what) {
  std::set<std::string> all;
  each_series(trace, [&](const SeriesInfo& series) { all.insert(series.*what); });
  all.erase("");
  return all;
}

std::vector<std::string> warnings_of(const Trace& a, const Trace& b) {
  std::vector<std::string> all;
  const auto names_a = all_of(a, &SeriesInfo::device_name), names_b = all_of(b, &SeriesInfo::device_name);
  const auto ids_a = all_of(a, &SeriesInfo::device_uuid), ids_b = all_of(b, &SeriesInfo::device_uuid);
  if (names_a != names_b)
    all.push_back(
        fmt::format("the devices differ: {} in A, {} in B", fmt::join(names_a, ", "), fmt::join(names_b, ", ")));
  else if (ids_a != ids_b && !ids_a.empty() && !ids_b.empty())
    all.push_back("the GPUs are others of the same model: their UUIDs differ");
  const auto version = [](const Trace& t) { return t.root.tool_version + ' ' + t.root.git_commit; };
  if (version(a) != version(b))
    all.push_back("two versions of npgpu measured: what one of them does in a repeat may differ");
  for (const auto& [which, trace] : {std::pair{'A', &a}, {'B', &b}})
    if (!trace->root.complete) all.push_back(fmt::format("{} is incomplete: its run did not reach its end", which));
  return all;
}

std::string trace_text(const std::string& file, const Trace& trace) {
  const TraceRoot& root = trace.root;
  std::string text = file;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += ", " + part;
  };
  add(root.start_time_utc);
  add(root.hostname.empty() ? "" : "on " + root.hostname);
  add(fmt::format("{}", fmt::join(all_of(trace, &SeriesInfo::device_name), ", ")));
  add(root.tool_version.empty() ? "" : "npgpu " + root.tool_version);
  return text + (root.git_commit.empty() ? "" : " (" + root.git_commit + ')');
}

Json trace_json(const std::string& file, const Trace& trace) {
  std::set<std::pair<std::string, std::string>> all;
  each_series(trace, [&](const SeriesInfo& series) { all.emplace(series.device_name, series.device_uuid); });
  const Json devices = array_of(all, [](const auto& one) {
    return Json({entry("name", one.first), entry("uuid", one.second)});
  });
  return Json({entry("file", file), entry("run", trace.root), entry("devices", devices)});
}

// ---- the points -----------------------------------------------------------------------------------------------------

void one_series(Page& page, Points points) {
  page.text += '\n';
  page.title(points.front().title);
  page.note(tally(points) + times_text(points));
  if (std::ranges::none_of(points, shown)) return;
  const bool lanes = std::ranges::any_of(points, [](const PointComparison& p) { return p.lane != 0; });
  Table table({left("point"), right("lane", 0, lanes), decimal("A us"), decimal("B us"), right("change"), left("")});
  std::vector<const PointComparison*> rows;
  for (const PointComparison& p : points) {
    if (!shown(p)) continue;
    table.row({p.axes, std::to_string(p.lane), digits_text(p.a_us), digits_text(p.b_us), change_text(p.change),
               std::string(name(p.verdict))});
    rows.push_back(&p);
  }
  page.rows(table, [&](std::size_t i, const std::string& line) {
    page.text += is_failure(rows[i]->verdict) ? page.ink.alarm(line) : line;
    if (!rows[i]->note.empty()) page.note(rows[i]->note, false, 6);
  });
  page.note_left_out(table);
}

// The points of a series follow each other; each is there once a lane.
Points series_at(Points rest) {
  std::set<std::pair<std::string_view, std::uint32_t>> met;
  std::size_t n = 0;
  while (n < rest.size() && rest[n].kind == rest[0].kind && rest[n].title == rest[0].title &&
         met.emplace(rest[n].axes, rest[n].lane).second)
    ++n;
  return rest.first(n);
}

// "3190 points (3245 times: some have several lanes)": a report counts points, verdicts are of times.
std::string count_text(Points points) {
  std::size_t n = 0;
  for (Points rest = points; !rest.empty();) {
    const Points series = series_at(rest);
    std::set<std::string_view> axes;
    for (const PointComparison& p : series) axes.insert(p.axes);
    n += axes.size();
    rest = rest.subspan(series.size());
  }
  std::string text = counted(n, "point");
  if (n != points.size()) text += fmt::format(" ({}: some have several lanes)", counted(points.size(), "time"));
  return text;
}

}  // namespace

void compare_text(std::ostream& out, const ComparisonOf& of, const TextStyle& style) {
  Page page(style);
  page.labelled("A", trace_text(of.a_name, *of.a));
  page.labelled("B", trace_text(of.b_name, *of.b));
  for (const std::string& warning : warnings_of(*of.a, *of.b)) page.labelled("WARNING", warning, true);
  const Points points(of.points);
  const std::string summary =
      fmt::format("B against A, {}: {}", count_text(points), points.empty() ? "nothing to compare" : tally(points));
  const std::string line = wrapped(summary, page.width, 2);
  const bool failed = std::ranges::any_of(points, is_failure, &PointComparison::verdict);
  page.text += (failed ? page.ink.alarm(line) : page.ink.bold(line)) + '\n';
  page.note(fmt::format(
      "slower, faster: the medians differ by more than {:g} % and their 95 % intervals do not overlap; unclear: they "
      "differ by more, but the intervals overlap or are missing; broken: one of the two has wrong results or no time",
      100 * of.threshold));
  for (Points rest = points; !rest.empty();) {
    const Points series = series_at(rest);
    one_series(page, series);
    rest = rest.subspan(series.size());
  }
  out << page.text;
}

void compare_json(std::ostream& out, const ComparisonOf& of) {
  Json counts = Json::object(), rows = Json::array();
  for (std::size_t i = 0; i < names_of<Verdict>.size(); ++i)
    counts[std::string(names_of<Verdict>[i])] = count(of.points, static_cast<Verdict>(i));
  for (const PointComparison& p : of.points)
    rows.push_back({entry("kind", p.kind), entry("title", p.title), entry("point", p.axes), entry("lane", p.lane),
                    entry("a_us", p.a_us), entry("b_us", p.b_us), entry("change", p.change),
                    entry("verdict", p.verdict), entry("note", or_null(p.note))});
  write_json(out,
             Json{entry("document", "npgpu-compare"), entry("version", 3), entry("threshold", of.threshold),
                  entry("a", trace_json(of.a_name, *of.a)), entry("b", trace_json(of.b_name, *of.b)),
                  entry("warnings", warnings_of(*of.a, *of.b)), entry("counts", counts), entry("points", rows)},
             1);
}

}  // namespace npgpu
