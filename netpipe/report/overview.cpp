// One line for each series, as text and as JSON.
//
//   { "document": "npgpu-overview", "version": 1, "run": {...},
//     "transfers": [ { title, device_name, simulated, points, not_converged, unusable, best_rate_bytes_per_s,
//     best_bytes,
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
template <class K> Counts counts_of(const Series<K>& series) {
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

// ---- a line of each kind: its numbers, its columns between title and counts, and what those mean --------------------

struct Head {
  std::string text;
  Align align = Align::right;
  int rank = 0;
};
using Heads = std::vector<Head>;
using Cells = std::vector<std::string>;

struct TransferLine {
  CurveFit fit;
  double percent = not_measured;
  PointSummary largest;

  explicit TransferLine(const TransferSeries& series) {
    auto points = summarize_sum(series);
    if (points.empty()) points = summarize(series);
    fit = fit_curve(points);
    if (!points.empty()) largest = points.back();
    for (const PointSummary& p : points)
      if (p.bytes == fit.best_bytes && p.rate.value == fit.best_rate) percent = p.percent_of_limit;
  }
  Json json() const {
    const auto size = [](std::uint64_t bytes) { return bytes ? Json(bytes) : Json(nullptr); };
    return {{"best_rate_bytes_per_s", json_of(fit.best_rate)},
            {"best_bytes", size(fit.best_bytes)},
            {"percent_of_limit", json_of(percent)},
            {"largest_bytes", size(largest.bytes)},
            {"largest_rate_bytes_per_s", json_of(largest.rate.value)},
            {"smallest_sizes_us", json_of(fit.small_us)},
            {"half_rate_bytes", json_of(fit.half_bytes)}};
  }
  static Heads heads() {
    return {{"best GB/s", Align::point, 0},  {"at", Align::right, 2},          {"largest", Align::point, 1},
            {"% of limit", Align::point, 3}, {"smallest us", Align::point, 4}, {"N1/2", Align::right, 5}};
  }
  Cells cells() const {
    return {digits_text(fit.best_rate * 1e-9),
            fit.best_bytes ? size_text(fit.best_bytes) : "-",
            digits_text(largest.rate.value * 1e-9),
            percent_text(percent),
            digits_text(fit.small_us),
            about_size_text(fit.half_bytes)};
  }
  static std::string note() {
    return "largest: GB/s at the largest size; smallest: mean time of the ten smallest sizes, which is the latency of "
           "blocking copies, and for async ones the time from copy to copy in a queue; N1/2: size that reaches half of "
           "the best rate; several lanes: their sum";
  }
};

struct ProbeLine {
  ProbeCase question;
  Corners corners;
  double percent = not_measured;
  double first_per_s = not_measured, last_per_s = not_measured;  // loads have no corners

  explicit ProbeLine(const ProbeSeries& series) : question(series.question) {
    if (!counts_loads(question)) {
      corners = corners_of(series);
      percent = 100 * corners.all_all.value / series.limit.per_s;
    } else if (const auto rates = model::rates_of(series); !rates.empty()) {
      first_per_s = rates.front().rate.value;
      last_per_s = rates.back().rate.value;
    }
  }
  Json json() const {
    return {{"all_all_per_s", json_of(corners.all_all.value)},
            {"one_all_per_s", json_of(corners.one_all.value)},
            {"all_one_per_s", json_of(corners.all_one.value)},
            {"one_one_per_s", json_of(corners.one_one.value)},
            {"percent_of_limit", json_of(percent)},
            {"first_load_us", json_of(1e6 / first_per_s)},
            {"last_load_us", json_of(1e6 / last_per_s)}};
  }
  static Heads heads() {
    return {{"All-All"},
            {"One-All", Align::right, 2},
            {"All-One", Align::right, 3},
            {"One-One", Align::right, 4},
            {"% of limit", Align::point, 1}};
  }
  Cells cells() const {
    const auto rate = [&](double per_s) { return probe_rate_text(question, per_s); };
    if (counts_loads(question)) return {rate(first_per_s) + " .. " + rate(last_per_s), "", "", "", "-"};
    return {rate(corners.all_all.value), rate(corners.one_all.value), rate(corners.all_one.value),
            rate(corners.one_one.value), percent_text(percent)};
  }
  static std::string note() {
    return "corners (Perez & Piccoli 2011): blocks on all units or one, then threads all or one; % of limit: All-All "
           "over the limit at the highest clock ('P reached' is at the clock of the run)";
  }
};

// The best split of jobs that were also measured unsplit.
struct JobLine {
  std::optional<JobSummary> best;

  explicit JobLine(const JobSeries& series) {
    for (const JobSummary& s : summarize(series))
      if (s.speed_up > (best ? best->speed_up : 1)) best = s;
  }
  Json json() const {
    Json json{{"speed_up", json_of(best ? best->speed_up : not_measured)}, {"speed_up_at", nullptr}};
    if (best) add_fields(json["speed_up_at"] = Json::object(), best->job);
    return json;
  }
  static Heads heads() { return {{"speed-up", Align::point, 0}, {"at", Align::left, 1}}; }
  Cells cells() const { return {best ? digits_text(best->speed_up, 3) : "-", best ? text_of(best->job) : ""}; }
  static std::string note() { return "speed-up: the largest over the same job unsplit in one stream"; }
};

// A kind without more to say.
struct PlainLine {
  template <class K> explicit PlainLine(const Series<K>&) {}
  Json json() const { return Json::object(); }
  static Heads heads() { return {}; }
  Cells cells() const { return {}; }
  static std::string note() { return {}; }
};

template <class K> struct LineOf { using Type = PlainLine; };
template <> struct LineOf<Transfers> { using Type = TransferLine; };
template <> struct LineOf<Probes> { using Type = ProbeLine; };
template <> struct LineOf<Jobs> { using Type = JobLine; };

// ---- all kinds ------------------------------------------------------------------------------------------------------

// What the lines of a group have in common: "cudaMemcpy cuda:0"; their titles go on behind it.
template <class K> std::string group_of(const Series<K>& series) {
  const std::string all = title(series.question), device = device_of(series.question);
  const std::size_t at = all.find(device);
  return at == std::string::npos ? device : all.substr(0, at + device.size());
}
template <class K> std::string rest_of(const Series<K>& series) {
  const std::string all = title(series.question), group = group_of(series);
  return all.starts_with(group + ' ') ? all.substr(group.size() + 1) : all;
}

// Jobs of single copies, kernels and calls have no best split; what they show is among what is derived.
bool has_line(const JobSeries& series, const JobLine& line) { return line.best || !series.error.empty(); }
bool has_line(const auto&, const auto&) { return true; }

template <class K> void overview(Page& page, const std::vector<Series<K>>& all) {
  using Line = typename LineOf<K>::Type;
  const Heads heads = Line::heads();
  Table table;
  table.column(std::string(K::name), Align::left);
  table.column("points", Align::right, 6);
  for (const Head& head : heads) table.column(head.text, head.align, head.rank);
  table.column("", Align::left);
  std::vector<const Series<K>*> shown;
  Counts sum, others;
  std::size_t other_series = 0;
  for (const Series<K>& series : all) {
    const Counts counts = counts_of(series);
    sum.not_converged += counts.not_converged;
    sum.unusable += counts.unusable;
    const Line line(series);
    if (!has_line(series, line)) {
      ++other_series;
      others.points += counts.points;
      others.not_converged += counts.not_converged;
      others.unusable += counts.unusable;
      continue;
    }
    shown.push_back(&series);
    Cells row{"  " + rest_of(series), std::to_string(counts.points)};
    for (std::string& cell : line.cells()) row.push_back(std::move(cell));
    row.push_back(counts.text(series));
    table.row(std::move(row));
  }
  if (other_series) {
    Cells row(2 + heads.size());
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
    if (!series.error.empty()) page.text += page.ink.alarm("      x " + wrapped(series.error, page.width, 8, 8)) + '\n';
  }
  if (other_series) page.text += lines.back();
  page.text += '\n';
  if (const std::string note = Line::note(); !note.empty()) page.note(note);
  if (sum.not_converged) page.note("N*: N points did not converge to the tolerance");
  if (sum.unusable) page.note("N!: N points without a usable result; the full report has the reasons");
  page.note_left_out(table);
}

}  // namespace

void report_overview(std::ostream& out, const Trace& trace, const TextStyle& style) {
  Page page(style);
  facts_text(page, trace, style);
  for_each_kind([&]<class K>() {
    if constexpr (requires { all_text(page, trace.of<K>()); }) all_text(page, trace.of<K>());
    else if (!trace.of<K>().empty()) overview(page, trace.of<K>());
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
      Json one{{"title", title(series.question)},       {"device_name", series.device_name},
               {"simulated", series.simulated},         {"points", counts.points},
               {"not_converged", counts.not_converged}, {"unusable", counts.unusable}};
      if constexpr (requires { typename LineOf<K>::Type; }) one.update(typename LineOf<K>::Type(series).json());
      one["error"] = series.error.empty() ? Json(nullptr) : Json(series.error);
      all.push_back(std::move(one));
    }
  });
  write_json(out, json, 1);
}

}  // namespace npgpu
