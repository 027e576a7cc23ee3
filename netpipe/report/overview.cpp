#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "netpipe/model/probes/probe_rates.hpp"
#include "netpipe/report/derived_text.hpp"
#include "netpipe/report/facts_text.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/probe_text.hpp"
#include "netpipe/report/sweep_text.hpp"

namespace npgpu {

namespace {

// What all lines of a group share, so that the lines need not repeat it.
std::string heading(const TransferSeries& sweep) { return sweep.question.module + ' ' + sweep.question.device; }

std::string remarks(const TransferSeries& sweep, const std::vector<PointSummary>& points) {
  std::string text;
  const auto never = std::count_if(points.begin(), points.end(), [](const auto& p) { return p.stop == Stop::not_converged; });
  const auto voids =
      std::count_if(points.begin(), points.end(), [](const auto& p) { return !std::isfinite(p.rate.value); });
  if (never > 0) text += fmt::format("{}*", never);
  if (voids > 0) text += fmt::format("{}{}!", text.empty() ? "" : " ", voids);
  if (!sweep.error.empty()) text += text.empty() ? "x" : " x";
  return text;
}

void transfers(std::ostream& out, const Trace& trace, const Ink& ink, std::size_t width) {
  Table table;
  table.column("sweep", Align::left);
  table.column("best GB/s", Align::point);
  table.column("% of limit", Align::point, 1);
  table.column("at", Align::right, 3);
  table.column("latency us", Align::point);
  table.column("n_1/2", Align::right, 2);
  table.column("", Align::left);
  bool never = false, voids = false, duplex = false;
  for (const TransferSeries& sweep : trace.of<Transfers>()) {
    const std::string name = title(sweep.question);
    const bool both = sweep.question.pattern == Pattern::duplex;
    const auto points = both ? summarize_sum(sweep) : summarize(sweep);
    const CurveFit fit = fit_curve(points);
    double percent = not_measured;
    for (const PointSummary& p : points)
      if (p.bytes == fit.best_bytes && p.rate.value == fit.best_rate) percent = p.percent_of_limit;
    const std::string marks = remarks(sweep, points);
    never |= marks.find('*') != std::string::npos;
    voids |= marks.find('!') != std::string::npos;
    duplex |= both;
    table.row({"  " + name.substr(heading(sweep).size() + 1), digits_text(fit.best_rate * 1e-9), percent_text(percent),
               fit.best_bytes ? size_text(fit.best_bytes) : "-", digits_text(fit.small_us),
               about_size_text(fit.half_bytes), marks});
  }

  const auto lines = table.lines(width);
  out << '\n' << ink.dim(lines[0]);
  std::string last;
  for (std::size_t i = 0; i < trace.of<Transfers>().size(); ++i) {
    const TransferSeries& sweep = trace.of<Transfers>()[i];
    std::string group = (sweep.simulated ? "SIMULATED " : "") + heading(sweep);
    if (!sweep.device_name.empty()) group += " (" + sweep.device_name + ')';
    if (group != last) out << "  " << (sweep.simulated ? ink.alarm(group) : ink.bold(group)) << '\n';
    last = group;
    out << lines[i + 1];
    if (!sweep.error.empty()) out << ink.alarm("      x " + wrapped(sweep.error, width, 8, 8)) << '\n';
  }
  out << "\n  latency: mean time of the ten smallest sizes; n_1/2: size that reaches half of the best rate\n";
  if (duplex) out << "  duplex: both directions together, percent of both directions' limits\n";
  if (never) out << "  *: so many sizes whose interval never narrowed\n";
  if (voids) out << "  !: so many sizes without a rate; the full report has the reasons\n";
}

// The four corners of each case; latencies have none, and the first and last of them stand there.
void probes(std::ostream& out, const Trace& trace, const Ink& ink, std::size_t width) {
  Table table;
  table.column("probe", Align::left);
  for (const char* corner : {"All-All", "One-All", "All-One", "One-One"}) table.column(corner, Align::right);
  table.column("% of peak", Align::point, 1);
  table.column("", Align::left);
  for (const ProbeSeries& probe : trace.of<Probes>()) {
    const ProbeCase& c = probe.question;
    std::vector<std::string> cells{"  " + title(c)};
    if (counts_loads(c)) {
      const auto rates = model::rates_of(probe);
      cells.push_back(rates.empty() ? "-" : probe_rate_text(c, rates.front().rate.value) + " .. " + probe_rate_text(c, rates.back().rate.value));
      cells.insert(cells.end(), {"", "", "", "-"});
    } else {
      const Corners corners = corners_of(probe);
      for (const Estimate* e : {&corners.all_all, &corners.one_all, &corners.all_one, &corners.one_one})
        cells.push_back(probe_rate_text(c, e->value));
      cells.push_back(percent_text(100 * corners.all_all.value / probe.limit.per_s));
    }
    const auto never = std::count_if(probe.points.begin(), probe.points.end(), [](const auto& p) { return p.stop == Stop::not_converged; });
    cells.push_back((never ? fmt::format("{}*", never) : "") + (probe.error.empty() ? "" : " x"));
    table.row(std::move(cells));
  }
  const auto lines = table.lines(width);
  out << '\n' << ink.dim(lines[0]);
  for (std::size_t i = 0; i < trace.of<Probes>().size(); ++i) {
    out << lines[i + 1];
    if (!trace.of<Probes>()[i].error.empty()) out << ink.alarm("      x " + wrapped(trace.of<Probes>()[i].error, width, 8, 8)) << '\n';
  }
  out << "\n  corners: blocks on all units or one, threads all or one (paper 002); *: so many shapes never narrowed\n";
}

// The best cut of a case's jobs that were measured unsplit too. Cases that have none, which are those of the parts of jobs
// by themselves, are summed up a device: what they tell stands among what is derived.
void streams(std::ostream& out, const Trace& trace, const Ink& ink, std::size_t width) {
  Table table;
  table.column("jobs in streams", Align::left);
  table.column("jobs", Align::right);
  table.column("largest speed-up", Align::point);
  table.column("at", Align::left, 1);
  table.column("", Align::left);
  struct Row {
    std::string name;
    std::size_t jobs = 0, never = 0;
    std::optional<JobSummary> best;
    std::string error;
  };
  std::vector<Row> rows;
  std::map<std::string, Row> parts;  // by device
  for (const JobSeries& sweep : trace.of<Jobs>()) {
    const std::string alarm = sweep.simulated ? "SIMULATED " : "";
    Row row{alarm + title(sweep.question), 0, 0, {}, sweep.error};
    for (const JobSummary& s : summarize(sweep)) {
      ++row.jobs;
      row.never += s.stop == Stop::not_converged;
      if (s.speed_up > (row.best ? row.best->speed_up : 1)) row.best = s;
    }
    if (row.best || !row.error.empty()) {
      rows.push_back(std::move(row));
      continue;
    }
    Row& sum = parts[alarm + sweep.question.device];
    sum.jobs += row.jobs;
    sum.never += row.never;
  }
  for (auto& [device, row] : parts) {
    row.name = "parts of jobs, " + device;
    rows.push_back(std::move(row));
  }
  for (const Row& row : rows)
    table.row({"  " + row.name, std::to_string(row.jobs), row.best ? digits_text(row.best->speed_up, 3) : "-",
               row.best ? text_of(row.best->job) : "",
               (row.never ? fmt::format("{}*", row.never) : "") + (row.error.empty() ? "" : " x")});
  const auto lines = table.lines(width);
  out << '\n' << ink.dim(lines[0]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out << lines[i + 1];
    if (!rows[i].error.empty()) out << ink.alarm("      x " + wrapped(rows[i].error, width, 8, 8)) << '\n';
  }
  out << "\n  speed-up: over the same job unsplit in one stream; *: so many jobs never narrowed\n";
}

}  // namespace

void report_overview(std::ostream& out, const Trace& trace, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  out << facts_text(trace, style);
  if (!trace.of<Transfers>().empty()) transfers(out, trace, ink, width);
  if (!trace.of<Probes>().empty()) probes(out, trace, ink, width);
  if (!trace.of<Jobs>().empty()) streams(out, trace, ink, width);
  derived_text(out, trace, style);
}

}  // namespace npgpu
