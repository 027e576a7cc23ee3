// A prediction, and how good predictions are, as a person reads them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/bound_words.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

std::string streams_words(std::uint32_t n) { return fmt::format("{} stream{}", n, n == 1 ? "" : "s"); }

std::string between(const Estimate& us) {
  return fmt::format("{} ({} .. {})", time_text(us.value), time_text(us.low), time_text(us.high));
}

// Powers of two and the neighbours of the best: enough to see the valley.
bool shown(std::uint32_t n, std::uint32_t best) { return (n & (n - 1)) == 0 || (n + 1 >= best && n <= best + 1); }

std::string spread_cell(double part) { return std::isfinite(part) ? fmt::format("{:.2f}", 100 * part) : "-"; }

}  // namespace

void forecast_text(std::ostream& out, const ForecastOf& of, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  const Prediction& p = of.forecast.prediction;
  const std::string device =
      (of.costs->simulated ? "SIMULATED " : "") + of.costs->device + " (" + of.costs->device_name + ')';
  out << "predicted for " << (of.costs->simulated ? ink.alarm(device) : ink.bold(device))
      << fmt::format(": {} in, {} of kernel, {} out, {}\n\n", size_text(of.job.in_bytes),
                     time_text(microseconds(of.job.kernel)), size_text(of.job.out_bytes), name(of.order));
  const std::string range =
      of.forecast.fewest == of.forecast.most ? "" : fmt::format(" ({} .. {})", of.forecast.fewest, of.forecast.most);
  out << labelled("best", streams_words(p.streams) + range + ", " + between(of.forecast.time_us), width);
  out << labelled("gain", fmt::format("{:.3f} times as fast as without streams", p.speed_up), width);
  out << labelled(
      "bound", fmt::format("{} is at work for {} of that", bound_words(p.bound), time_text(microseconds(p.bound_time))),
      width);
  out << '\n';
  Table table;
  table.column("streams", Align::right);
  table.column("time", Align::right);
  table.column("95 % interval", Align::left);
  table.column("over the best", Align::right);
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const std::uint32_t n = p.candidates[i].streams;
    if (!shown(n, p.streams)) continue;
    const Estimate& e = of.forecast.candidates_us[i];
    table.row({std::to_string(n), time_text(e.value), time_text(e.low) + " .. " + time_text(e.high),
               fmt::format("{:+.1f} %", 100 * (e.value / of.forecast.time_us.value - 1))});
  }
  for (const std::string& line : table.lines(width)) out << line;
  out << "  "
      << wrapped(
             "Intervals are those of the measured costs; npgpu predict --evaluate tells how far predictions "
             "are from measured jobs.",
             width, 2, 2)
      << '\n';
}

void evaluation_text(std::ostream& out, const Evaluation& e, Detail detail, const TextStyle& style) {
  const Ink ink(style.color);
  const auto width = static_cast<std::size_t>(std::max(40, style.width));
  const std::string device = (e.simulated ? "SIMULATED " : "") + e.device_name;
  out << "predictions held against " << e.workloads.size() << " workloads of "
      << (e.simulated ? ink.alarm(device) : ink.bold(device)) << "\n\n";
  Table table;
  table.column("model", Align::left);
  table.column("|error| %", Align::right);
  table.column("p95", Align::right, 1);
  table.column("most", Align::right, 2);
  table.column("regret %", Align::right);
  table.column("p95", Align::right, 1);
  table.column("most", Align::right, 2);
  table.column("hits %", Align::right);
  table.column("R2", Align::right, 3);
  for (const ModelScore& m : e.models)
    table.row({m.model, spread_cell(m.error.median), spread_cell(m.error.p95), spread_cell(m.error.most),
               spread_cell(m.regret.median), spread_cell(m.regret.p95), spread_cell(m.regret.most),
               fmt::format("{:.0f}", 100 * m.hits), std::isfinite(m.r2) ? fmt::format("{:.4f}", m.r2) : "-"});
  for (const std::string& line : table.lines(width)) out << line;
  out << "  "
      << wrapped(
             "|error|: of times in two and more streams; the kernel's time is the unsplit job's less its "
             "copies. regret: time with the n that the model chose among those measured, over the best of "
             "them. hits: that n was as good as the best within the noise. Fitted models were fitted to "
             "all workloads but the one they predict.",
             width, 2, 2)
      << '\n';
  if (detail == Detail::brief) return;
  for (const WorkloadScore& w : e.workloads) {
    out << '\n'
        << fmt::format("  {} in, {} of {} kernel, {} out, {}: best {}, predicted {}, regret {} %\n",
                       size_text(w.workload.job.bytes_in), time_text(w.kernel_us), name(w.workload.question.workload),
                       size_text(w.workload.job.bytes_out), name(w.workload.question.order), w.best,
                       w.simulator().predicted_best, spread_cell(w.simulator().regret));
    const std::vector<double>& predicted_us = w.simulator().predicted_us;
    std::string cells;
    for (std::size_t i = 0; i < predicted_us.size(); ++i)
      cells +=
          fmt::format("{}{}:{} {:+.1f} %", i ? ", " : "", w.workload.streams[i], time_text(w.workload.time_us[i].value),
                      100 * (predicted_us[i] / w.workload.time_us[i].value - 1));
    out << "    " << wrapped(cells, width, 4, 4) << '\n';
  }
}

}  // namespace npgpu
