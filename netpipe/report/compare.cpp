// What compare() found: as text, and as JSON. Keys are stable; null is what one trace does not have.
//
//   { "document": "npgpu-compare", "version": 2, "tolerance": 0.05,
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
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [&](const auto& p) { return p.verdict == verdict; }));
}

bool shown(const PointComparison& p) {
  return p.verdict != Verdict::same && p.verdict != Verdict::only_a && p.verdict != Verdict::only_b;
}

// "54 same, 2 slower": the verdicts that occur, the worst first.
std::string tally(Points points) {
  constexpr std::array order{Verdict::broken, Verdict::slower, Verdict::faster, Verdict::unclear,
                             Verdict::same,   Verdict::only_a, Verdict::only_b};
  static_assert(order.size() == names_of<Verdict>.size());
  std::string text;
  for (const Verdict verdict : order)
    if (const std::size_t n = count(points, verdict))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, name(verdict));
  return text;
}

std::string change_text(double change) { return std::isfinite(change) ? fmt::format("{:+.1f} %", 100 * change) : "-"; }

std::string times_text(Points points) {
  std::vector<double> changes;
  for (const PointComparison& p : points)
    if (std::isfinite(p.change)) changes.push_back(p.change);
  if (changes.empty()) return {};
  const auto [min, max] = std::minmax_element(changes.begin(), changes.end());
  return fmt::format("; times {} in the median, {} .. {}", change_text(median(changes)), change_text(*min),
                     change_text(*max));
}

// ---- what A and B are -----------------------------------------------------------------------------------------------

using Device = std::pair<std::string, std::string>;  // name, UUID
std::set<Device> devices_of(const Trace& trace) {
  std::set<Device> devices;
  for_each_kind([&]<class K>() {
    for (const Series<K>& series : trace.of<K>()) devices.emplace(series.device_name, series.device_uuid);
  });
  return devices;
}

std::string list(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + (name.empty() ? "an unnamed device" : name);
  return text;
}

template <auto Part> std::set<std::string> parts_of(const std::set<Device>& devices) {
  std::set<std::string> parts;
  for (const Device& device : devices)
    if (!(device.*Part).empty()) parts.insert(device.*Part);
  return parts;
}

std::vector<std::string> warnings_of(const Trace& a, const Trace& b) {
  std::vector<std::string> all;
  const auto in_a = devices_of(a), in_b = devices_of(b);
  const auto names_a = parts_of<&Device::first>(in_a), names_b = parts_of<&Device::first>(in_b);
  const auto ids_a = parts_of<&Device::second>(in_a), ids_b = parts_of<&Device::second>(in_b);
  if (names_a != names_b)
    all.push_back(fmt::format("the devices differ: {} in A, {} in B", list(names_a), list(names_b)));
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
  add(list(parts_of<&Device::first>(devices_of(trace))));
  add(root.tool_version.empty() ? "" : "npgpu " + root.tool_version);
  return text + (root.git_commit.empty() ? "" : " (" + root.git_commit + ')');
}

Json trace_json(const std::string& file, const Trace& trace) {
  Json devices = Json::array();
  for (const auto& [name, uuid] : devices_of(trace)) devices.push_back({{"name", name}, {"uuid", uuid}});
  return {{"file", file}, {"run", json_of(trace.root)}, {"devices", std::move(devices)}};
}

// ---- the points -----------------------------------------------------------------------------------------------------

void one_series(Page& page, Points points) {
  page.text += '\n';
  page.title(points.front().title);
  page.note(tally(points) + times_text(points));
  if (std::none_of(points.begin(), points.end(), shown)) return;
  Table table;
  const bool lanes = std::any_of(points.begin(), points.end(), [](const auto& p) { return p.lane != 0; });
  table.column("point", Align::left);
  if (lanes) table.column("lane", Align::right);
  table.column("A us", Align::point);
  table.column("B us", Align::point);
  table.column("change", Align::right);
  table.column("", Align::left);
  std::vector<const PointComparison*> rows;
  for (const PointComparison& p : points) {
    if (!shown(p)) continue;
    std::vector<std::string> cells{p.axes};
    if (lanes) cells.push_back(std::to_string(p.lane));
    cells.push_back(digits_text(p.a_us));
    cells.push_back(digits_text(p.b_us));
    cells.push_back(change_text(p.change));
    cells.emplace_back(name(p.verdict));
    table.row(std::move(cells));
    rows.push_back(&p);
  }
  const auto lines = table.lines(page.width);
  page.text += page.ink.dim(lines[0]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.text += is_failure(rows[i]->verdict) ? page.ink.alarm(lines[i + 1]) : lines[i + 1];
    if (!rows[i]->note.empty()) page.text += "      " + wrapped(rows[i]->note, page.width, 8, 6) + '\n';
  }
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
  const bool failed = std::any_of(points.begin(), points.end(), [](const auto& p) { return is_failure(p.verdict); });
  page.text +=
      (failed ? page.ink.alarm(wrapped(summary, page.width, 2)) : page.ink.bold(wrapped(summary, page.width, 2)));
  page.text += '\n';
  page.note(fmt::format(
      "slower, faster: the medians differ by more than {:g} % and their 95 % intervals do not overlap; unclear: they "
      "differ by more, but the intervals overlap or are missing; broken: one of the two has wrong results or no time",
      100 * of.tolerance));
  for (Points rest = points; !rest.empty();) {
    const Points series = series_at(rest);
    one_series(page, series);
    rest = rest.subspan(series.size());
  }
  out << page.text;
}

void compare_json(std::ostream& out, const ComparisonOf& of) {
  Json counts = Json::object(), rows = Json::array();
  for (const std::string_view verdict : names_of<Verdict>) counts[std::string(verdict)] = 0;
  for (const PointComparison& p : of.points) {
    Json& n = counts[std::string(name(p.verdict))];
    n = n.get<std::uint64_t>() + 1;
    rows.push_back({{"kind", p.kind},
                    {"title", p.title},
                    {"point", p.axes},
                    {"lane", p.lane},
                    {"a_us", json_of(p.a_us)},
                    {"b_us", json_of(p.b_us)},
                    {"change", json_of(p.change)},
                    {"verdict", name(p.verdict)},
                    {"note", p.note.empty() ? Json(nullptr) : Json(p.note)}});
  }
  write_json(out,
             Json{{"document", "npgpu-compare"},
                  {"version", 2},
                  {"tolerance", json_of(of.tolerance)},
                  {"a", trace_json(of.a_name, *of.a)},
                  {"b", trace_json(of.b_name, *of.b)},
                  {"warnings", warnings_of(*of.a, *of.b)},
                  {"counts", std::move(counts)},
                  {"points", std::move(rows)}},
             1);
}

}  // namespace npgpu
