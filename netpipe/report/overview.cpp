// One line for each series, as text and as JSON.
//
//   { "document": "npgpu-overview", "version": 1, "run": {...},
//     "transfers": [ { title, device_name, simulated, points, not_converged, disturbed, unusable,
//                      best_rate_bytes_per_s, best_bytes, percent_of_limit, largest_bytes, largest_rate_bytes_per_s,
//                      smallest_sizes_us, half_rate_bytes, error } ],
//     "probes": [ { ..., all_all_per_s, one_all_per_s, all_one_per_s, one_one_per_s, percent_of_limit, or for loads
//                   first_load_us and last_load_us } ],
//     "jobs": [ { ..., speed_up, speed_up_at } ] }
#include <fmt/format.h>

#include <optional>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

// What every line ends with, whatever the kind.
struct Counts {
  std::size_t points = 0, not_converged = 0, unusable = 0, disturbed = 0;

  void operator+=(const Counts& more) {
    points += more.points;
    not_converged += more.not_converged;
    unusable += more.unusable;
    disturbed += more.disturbed;
  }
  // "3* 2d 1!"
  std::string text(const SeriesInfo& series) const {
    std::vector<std::string> marks;
    if (not_converged) marks.push_back(fmt::format("{}*", not_converged));
    if (disturbed) marks.push_back(fmt::format("{}d", disturbed));
    if (unusable) marks.push_back(fmt::format("{}!", unusable));
    if (!series.error.empty()) marks.emplace_back("x");
    return fmt::format("{}", fmt::join(marks, " "));
  }
};
template <class K> Counts counts_of(const Series<K>& series) {
  Counts counts;
  for (const Point<K>& point : points_of(series)) {
    ++counts.points;
    counts.not_converged += point.stop() == Stop::not_converged;
    counts.disturbed += point.disturbed() != 0;
  }
  std::optional<typename K::Axes> last;  // lanes of a point are counted once
  for (const PointTime<K>& time : estimates(series)) {
    if (time.usable() && time.time_us.value > 0) continue;
    counts.unusable += last != time.axes;
    last = time.axes;
  }
  return counts;
}

// ---- a line of each kind --------------------------------------------------------------------------------------------

// Its numbers: as cells between title and counts, each with its column, and as JSON.
struct Line {
  std::vector<std::pair<Column, std::string>> cells{};
  Json json = Json::object();
  std::string note{};  // what the columns mean
  bool shown = true;   // false: it is only counted
};

// A kind without more to say.
template <class K> Line line_of(const Series<K>&) { return {}; }

Line line_of(const TransferSeries& series) {
  auto points = summarize_sum(series);
  if (points.empty()) points = summarize(series);
  const CurveFit fit = fit_curve(points);
  const PointSummary largest = points.empty() ? PointSummary{} : points.back();
  double percent = not_measured;
  for (const PointSummary& p : points)
    if (p.bytes == fit.best_bytes && p.rate.value == fit.best_rate) percent = p.percent_of_limit;
  const auto size = [](std::uint64_t bytes) { return bytes ? Json(bytes) : Json(nullptr); };
  return {
      {{decimal("best GB/s"), digits_text(fit.best_rate * 1e-9)},
       {right("at", 2), fit.best_bytes ? size_text(fit.best_bytes) : "-"},
       {decimal("largest", 1), digits_text(largest.rate.value * 1e-9)},
       {decimal("% of limit", 3), percent_text(percent)},
       {decimal("smallest us", 4), digits_text(fit.small_us)},
       {right("N1/2", 5), about_size_text(fit.half_bytes)}},
      {entry("best_rate_bytes_per_s", fit.best_rate), entry("best_bytes", size(fit.best_bytes)),
       entry("percent_of_limit", percent), entry("largest_bytes", size(largest.bytes)),
       entry("largest_rate_bytes_per_s", largest.rate.value), entry("smallest_sizes_us", fit.small_us),
       entry("half_rate_bytes", fit.half_bytes)},
      "largest: GB/s at the largest size; smallest: mean time of the ten smallest sizes, which is the latency of "
      "blocking copies, and for async ones the time from copy to copy in a queue; N1/2: size that reaches half of the "
      "best rate; several lanes: their sum"};
}

Line line_of(const ProbeSeries& series) {
  const bool loads = counts_loads(series.question);  // they have no corners
  const Corners corners = loads ? Corners{} : corners_of(series);
  const double percent = 100 * corners.all_all.value / series.limit.per_s;
  const auto rates = loads ? model::rates_of(series) : std::vector<model::PointRate>{};
  const double first = rates.empty() ? not_measured : rates.front().rate.value;
  const double last = rates.empty() ? not_measured : rates.back().rate.value;
  const auto rate = [&](double per_s) { return probe_rate_text(series.question, per_s); };
  const auto corner = [&](const Estimate& e) { return loads ? "" : rate(e.value); };
  return {{{right("All-All"), loads ? rate(first) + " .. " + rate(last) : corner(corners.all_all)},
           {right("One-All", 2), corner(corners.one_all)},
           {right("All-One", 3), corner(corners.all_one)},
           {right("One-One", 4), corner(corners.one_one)},
           {decimal("% of limit", 1), percent_text(percent)}},
          {entry("all_all_per_s", corners.all_all.value), entry("one_all_per_s", corners.one_all.value),
           entry("all_one_per_s", corners.all_one.value), entry("one_one_per_s", corners.one_one.value),
           entry("percent_of_limit", percent), entry("first_load_us", 1e6 / first), entry("last_load_us", 1e6 / last)},
          "corners (Perez & Piccoli 2011): blocks on all units or one, then threads all or one; % of limit: All-All "
          "over the limit at the highest clock ('P reached' is at the clock of the run)"};
}

// The best split of jobs that were also measured unsplit. Jobs of single copies, kernels and calls have none; what they
// show is among what is derived.
Line line_of(const JobSeries& series) {
  JobSummary best;
  best.speed_up = 1;
  for (const JobSummary& s : summarize(series))
    if (s.speed_up > best.speed_up) best = s;
  const bool any = best.speed_up > 1;
  Json job(nullptr);
  if (any) add_fields(job = Json::object(), best.job);
  return {
      {{decimal("speed-up"), any ? digits_text(best.speed_up, 3) : "-"}, {left("at", 1), any ? text_of(best.job) : ""}},
      {entry("speed_up", any ? best.speed_up : not_measured), entry("speed_up_at", job)},
      "speed-up: the largest over the same job unsplit in one stream",
      any || !series.error.empty()};
}

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

template <class K> void overview(Page& page, const std::vector<Series<K>>& all) {
  const Line first = line_of(all.front());
  std::vector<Column> columns{left(std::string(K::name)), right("points", 6)};
  for (const auto& [column, text] : first.cells) columns.push_back(column);
  columns.push_back(left(""));
  const std::size_t wide = columns.size();
  Table table(std::move(columns));
  std::vector<const Series<K>*> shown;
  Counts sum, others;
  for (const Series<K>& series : all) {
    const Counts counts = counts_of(series);
    sum += counts;
    const Line line = line_of(series);
    if (!line.shown) {
      others += counts;
      continue;
    }
    shown.push_back(&series);
    std::vector<std::string> row{"  " + rest_of(series), std::to_string(counts.points)};
    for (const auto& [column, text] : line.cells) row.push_back(text);
    row.push_back(counts.text(series));
    table.row(std::move(row));
  }
  if (shown.size() < all.size()) {
    std::vector<std::string> row(wide);
    row.front() = counted(all.size() - shown.size(), "other series");
    row[1] = std::to_string(others.points);
    row.back() = others.text({});
    table.row(std::move(row));
  }
  page.text += '\n';
  std::string last;
  page.rows(table, [&](std::size_t i, const std::string& line) {
    if (i == shown.size()) {
      page.text += line;  // of the other series
      return;
    }
    const Series<K>& series = *shown[i];
    const std::string group =
        (series.simulated ? "SIMULATED " : "") + device_text(group_of(series), series.device_name);
    if (group != last) page.text += "  " + (series.simulated ? page.ink.alarm(group) : page.ink.bold(group)) + '\n';
    last = group;
    page.text += line;
    if (!series.error.empty()) page.text += page.ink.alarm("      x " + wrapped(series.error, page.width, 8, 8)) + '\n';
  });
  page.text += '\n';
  if (!first.note.empty()) page.note(first.note);
  if (sum.not_converged) page.note("N*: N points did not converge to the tolerance");
  if (sum.disturbed) page.note("Nd: N points were disturbed by others; the full report says by what", true);
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
  Json json({entry("document", "npgpu-overview"), entry("version", 1), entry("run", trace.root)});
  for_each_kind([&]<class K>() {
    Json& all = json[std::string(K::name)] = Json::array();
    for (const Series<K>& series : trace.of<K>()) {
      const Counts counts = counts_of(series);
      Json one({entry("title", title(series.question)), entry("device_name", series.device_name),
                entry("simulated", series.simulated), entry("points", counts.points),
                entry("not_converged", counts.not_converged), entry("disturbed", counts.disturbed),
                entry("unusable", counts.unusable)});
      one.update(line_of(series).json);
      one["error"] = or_null(series.error);
      all.push_back(std::move(one));
    }
  });
  write_json(out, json, 1);
}

}  // namespace npgpu
