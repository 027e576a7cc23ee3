// One line for each series, as text and as JSON.
//
//   { "document": "npgpu-overview", "version": 1, "run": {...},
//     "transfers": [ { title, device_name, simulated, points, not_converged, unusable, best_rate_bytes_per_s, best_bytes,
//                      percent_of_limit, largest_bytes, largest_rate_bytes_per_s, smallest_sizes_us, half_rate_bytes,
//                      error } ],
//     "probes": [ { ..., all_all_per_s, one_all_per_s, all_one_per_s, one_one_per_s, percent_of_limit, or for loads
//                   first_load_us and last_load_us } ],
//     "jobs": [ { ..., speed_up, speed_up_at } ] }
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

// What every line ends with, whatever the kind.
struct Counts {
  std::size_t points = 0, not_converged = 0, unusable = 0;

  // "3* 1!"
  std::string text(const SeriesInfo& series) const {
    std::string marks;
    const auto add = [&](const std::string& mark) { marks += (marks.empty() ? "" : " ") + mark; };
    if (not_converged) add(fmt::format("{}*", not_converged));
    if (unusable) add(fmt::format("{}!", unusable));
    if (!series.error.empty()) add("x");
    return marks;
  }
};
template <class K>
Counts counts_of(const Series<K>& series) {
  Counts counts{series.points.size(), 0, 0};
  for (const Point<K>& p : series.points) counts.not_converged += p.stop == Stop::not_converged;
  std::optional<typename K::Axes> last;  // lanes of a point are counted once
  for (const PointTime<K>& time : estimates(series)) {
    if (time.usable() && time.time_us.value > 0) continue;
    counts.unusable += last != time.axes;
    last = time.axes;
  }
  return counts;
}

// ---- what a line says, for each kind --------------------------------------------------------------------------------

struct TransferLine {
  CurveFit fit;
  double percent = not_measured;
  PointSummary largest;
};
TransferLine line_of(const TransferSeries& series) {
  auto points = summarize_sum(series);
  if (points.empty()) points = summarize(series);
  TransferLine line{fit_curve(points), not_measured, points.empty() ? PointSummary{} : points.back()};
  for (const PointSummary& p : points)
    if (p.bytes == line.fit.best_bytes && p.rate.value == line.fit.best_rate) line.percent = p.percent_of_limit;
  return line;
}

struct ProbeLine {
  Corners corners;
  double percent = not_measured;
  double first_per_s = not_measured, last_per_s = not_measured;  // loads have no corners
};
ProbeLine line_of(const ProbeSeries& series) {
  ProbeLine line;
  if (!counts_loads(series.question)) {
    line.corners = corners_of(series);
    line.percent = 100 * line.corners.all_all.value / series.limit.per_s;
  } else if (const auto rates = model::rates_of(series); !rates.empty()) {
    line.first_per_s = rates.front().rate.value;
    line.last_per_s = rates.back().rate.value;
  }
  return line;
}

// The best split of jobs that were also measured unsplit.
struct JobLine {
  std::optional<JobSummary> best;
};
JobLine line_of(const JobSeries& series) {
  JobLine line;
  for (const JobSummary& s : summarize(series))
    if (s.speed_up > (line.best ? line.best->speed_up : 1)) line.best = s;
  return line;
}

struct PlainLine {};
template <class K>
PlainLine line_of(const Series<K>&) {
  return {};
}

Json line_json(const TransferLine& line) {
  const auto size = [](std::uint64_t bytes) { return bytes ? Json(bytes) : Json(nullptr); };
  return {{"best_rate_bytes_per_s", json_of(line.fit.best_rate)},
          {"best_bytes", size(line.fit.best_bytes)},
          {"percent_of_limit", json_of(line.percent)},
          {"largest_bytes", size(line.largest.bytes)},
          {"largest_rate_bytes_per_s", json_of(line.largest.rate.value)},
          {"smallest_sizes_us", json_of(line.fit.small_us)},
          {"half_rate_bytes", json_of(line.fit.half_bytes)}};
}
Json line_json(const ProbeLine& line) {
  return {{"all_all_per_s", json_of(line.corners.all_all.value)},
          {"one_all_per_s", json_of(line.corners.one_all.value)},
          {"all_one_per_s", json_of(line.corners.all_one.value)},
          {"one_one_per_s", json_of(line.corners.one_one.value)},
          {"percent_of_limit", json_of(line.percent)},
          {"first_load_us", json_of(1e6 / line.first_per_s)},
          {"last_load_us", json_of(1e6 / line.last_per_s)}};
}
Json line_json(const JobLine& line) {
  Json json{{"speed_up", nullptr}, {"speed_up_at", nullptr}};
  if (line.best) {
    json = {{"speed_up", line.best->speed_up}, {"speed_up_at", Json::object()}};
    add_fields(json["speed_up_at"], line.best->job);
  }
  return json;
}
Json line_json(const PlainLine&) { return Json::object(); }

// ---- the columns between a line's title and its counts --------------------------------------------------------------

struct Head {
  std::string text;
  Align align = Align::right;
  int rank = 0;
};
std::vector<Head> heads(const TransferLine*) {
  return {{"best GB/s", Align::point, 0}, {"at", Align::right, 2},          {"largest", Align::point, 1},
          {"% of limit", Align::point, 3}, {"smallest us", Align::point, 4}, {"N1/2", Align::right, 5}};
}
std::vector<Head> heads(const ProbeLine*) {
  return {{"All-All"}, {"One-All", Align::right, 2}, {"All-One", Align::right, 3}, {"One-One", Align::right, 4},
          {"% of limit", Align::point, 1}};
}
std::vector<Head> heads(const JobLine*) { return {{"speed-up", Align::point, 0}, {"at", Align::left, 1}}; }
std::vector<Head> heads(const PlainLine*) { return {}; }

std::vector<std::string> cells(const TransferSeries&, const TransferLine& line) {
  return {digits_text(line.fit.best_rate * 1e-9),
          line.fit.best_bytes ? size_text(line.fit.best_bytes) : "-",
          digits_text(line.largest.rate.value * 1e-9),
          percent_text(line.percent),
          digits_text(line.fit.small_us),
          about_size_text(line.fit.half_bytes)};
}
std::vector<std::string> cells(const ProbeSeries& series, const ProbeLine& line) {
  const ProbeCase& c = series.question;
  const auto rate = [&](double per_s) { return probe_rate_text(c, per_s); };
  if (counts_loads(c)) return {rate(line.first_per_s) + " .. " + rate(line.last_per_s), "", "", "", "-"};
  const Corners& corners = line.corners;
  return {rate(corners.all_all.value), rate(corners.one_all.value), rate(corners.all_one.value),
          rate(corners.one_one.value), percent_text(line.percent)};
}
std::vector<std::string> cells(const JobSeries&, const JobLine& line) {
  if (!line.best) return {"-", ""};
  return {digits_text(line.best->speed_up, 3), text_of(line.best->job)};
}
template <class K>
std::vector<std::string> cells(const Series<K>&, const PlainLine&) {
  return {};
}

void note(Page& page, const TransferLine*) {
  page.note(
      "largest: GB/s at the largest size; smallest: mean time of the ten smallest sizes, which is the latency of "
      "blocking copies, and for async ones the time from copy to copy in a queue; N1/2: size that reaches half of the "
      "best rate; several lanes: their sum");
}
void note(Page& page, const ProbeLine*) {
  page.note(
      "corners (Perez & Piccoli 2011): blocks on all units or one, then threads all or one; % of limit: All-All over the "
      "limit at the highest clock ('P reached' is at the clock of the run)");
}
void note(Page& page, const JobLine*) {
  page.note("speed-up: the largest over the same job unsplit in one stream");
}
void note(Page&, const PlainLine*) {}

// ---- all kinds ------------------------------------------------------------------------------------------------------

// What the lines of a group have in common: "cudaMemcpy cuda:0"; their titles go on behind it.
template <class K>
std::string group_of(const Series<K>& series) {
  const std::string all = title(series.question), device = device_of(series.question);
  const std::size_t at = all.find(device);
  return at == std::string::npos ? device : all.substr(0, at + device.size());
}
template <class K>
std::string rest_of(const Series<K>& series) {
  const std::string all = title(series.question), group = group_of(series);
  return all.starts_with(group + ' ') ? all.substr(group.size() + 1) : all;
}

// Jobs of single copies, kernels and calls have no best split; what they show is among what is derived.
bool has_line(const JobSeries& series, const JobLine& line) { return line.best || !series.error.empty(); }
template <class K, class Line>
bool has_line(const Series<K>&, const Line&) {
  return true;
}

template <class K>
void overview(Page& page, const std::vector<Series<K>>& all) {
  using Line = decltype(line_of(all.front()));
  Table table;
  table.column(std::string(K::name), Align::left);
  table.column("points", Align::right, 1);
  for (const Head& head : heads(static_cast<const Line*>(nullptr))) table.column(head.text, head.align, head.rank);
  table.column("", Align::left);
  std::vector<const Series<K>*> shown;
  Counts sum, others;
  std::size_t other_series = 0;
  for (const Series<K>& series : all) {
    const Counts counts = counts_of(series);
    sum.not_converged += counts.not_converged;
    sum.unusable += counts.unusable;
    const Line line = line_of(series);
    if (!has_line(series, line)) {
      ++other_series;
      others.points += counts.points;
      others.not_converged += counts.not_converged;
      others.unusable += counts.unusable;
      continue;
    }
    shown.push_back(&series);
    std::vector<std::string> row{"  " + rest_of(series), std::to_string(counts.points)};
    for (std::string& cell : cells(series, line)) row.push_back(std::move(cell));
    row.push_back(counts.text(series));
    table.row(std::move(row));
  }
  if (other_series) {
    std::vector<std::string> row(2 + heads(static_cast<const Line*>(nullptr)).size());
    row[0] = counted(other_series, "other series");
    row[1] = std::to_string(others.points);
    row.push_back(others.text(SeriesInfo{}));
    table.row(std::move(row));
  }
  page.text += '\n';
  const auto lines = table.lines(page.width);
  page.text += page.ink.dim(lines[0]);
  std::string last;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Series<K>& series = *shown[i];
    std::string group = (series.simulated ? "SIMULATED " : "") + group_of(series);
    if (!series.device_name.empty()) group += " (" + series.device_name + ')';
    if (group != last) page.text += "  " + (series.simulated ? page.ink.alarm(group) : page.ink.bold(group)) + '\n';
    last = group;
    page.text += lines[i + 1];
    if (!series.error.empty())
      page.text += page.ink.alarm("      x " + wrapped(series.error, page.width, 8, 8)) + '\n';
  }
  if (other_series) page.text += lines.back();
  page.text += '\n';
  note(page, static_cast<const Line*>(nullptr));
  if (sum.not_converged) page.note("N*: N points did not converge to the tolerance");
  if (sum.unusable) page.note("N!: N points without a usable result; the full report has the reasons");
  page.note_left_out(table);
}

}  // namespace

void report_overview(std::ostream& out, const Trace& trace, const TextStyle& style) {
  Page page(style);
  facts_text(page, trace, style);
  for_each_kind([&]<class K>() {
    if (!trace.of<K>().empty()) overview(page, trace.of<K>());
  });
  out << page.text;
  derived_text(out, trace, style);
}

void report_overview_json(std::ostream& out, const Trace& trace) {
  Json json{{"document", "npgpu-overview"}, {"version", 1}, {"run", json_of(trace.root)}};
  for_each_kind([&]<class K>() {
    Json& all = json[std::string(K::name)] = Json::array();
    for (const Series<K>& series : trace.of<K>()) {
      const Counts counts = counts_of(series);
      Json one{{"title", title(series.question)},
               {"device_name", series.device_name},
               {"simulated", series.simulated},
               {"points", counts.points},
               {"not_converged", counts.not_converged},
               {"unusable", counts.unusable}};
      one.update(line_json(line_of(series)));
      one["error"] = series.error.empty() ? Json(nullptr) : Json(series.error);
      all.push_back(std::move(one));
    }
  });
  write_json(out, json, 1);
}

}  // namespace npgpu
