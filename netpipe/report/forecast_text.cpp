// A prediction, and how good predictions are, as a person reads them.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"

namespace npgpu {

namespace {

constexpr double enough = 0.01;  // slower than the best, and worth fewer streams

struct Candidate {
  std::uint32_t streams = 0;
  double time_us = not_measured;
};
// The fewest streams that are at most `part` slower than the best.
std::optional<Candidate> fewest_within(const Forecast& f, double part) {
  std::optional<Candidate> fewest;
  for (std::size_t i = 0; i < f.prediction.candidates.size(); ++i) {
    const Candidate c{f.prediction.candidates[i].streams, f.candidates_us[i].value};
    if (c.time_us <= (1 + part) * f.time_us.value && (!fewest || c.streams < fewest->streams)) fewest = c;
  }
  return fewest;
}

std::string between(const Estimate& us) {
  return fmt::format("{} ({} .. {})", time_text(us.value), time_text(us.low), time_text(us.high));
}

// Powers of two and the neighbours of the best show the minimum.
bool shown(std::uint32_t n, std::uint32_t best) { return (n & (n - 1)) == 0 || (n + 1 >= best && n <= best + 1); }

std::string percent_cell(double part) { return std::isfinite(part) ? fmt::format("{:.2f}", 100 * part) : "-"; }

}  // namespace

void forecast_text(std::ostream& out, const ForecastOf& of, const TextStyle& style) {
  Page page(style);
  const Prediction& p = of.forecast.prediction;
  const double best_us = of.forecast.time_us.value;
  page.title(fmt::format("prediction for {} ({})", of.costs->device, of.costs->device_name), of.costs->simulated);
  page.labelled("job",
                fmt::format("{} in, kernel {}, {} out, {}", typed_size_text(of.job.in_bytes),
                            time_text(microseconds(of.job.kernel)), typed_size_text(of.job.out_bytes), name(of.order)));
  const std::string range =
      of.forecast.fewest == of.forecast.most ? "" : fmt::format(" ({} .. {})", of.forecast.fewest, of.forecast.most);
  page.labelled("best", counted(p.streams, "stream") + range + ", " + between(of.forecast.time_us));
  if (const auto few = fewest_within(of.forecast, enough); few && few->streams < p.streams)
    page.labelled("enough",
                  fmt::format("{}, {:+.1f} %: the fewest within {:g} % of the best", counted(few->streams, "stream"),
                              100 * (few->time_us / best_us - 1), 100 * enough));
  page.labelled("speed-up", fmt::format("{:.3f} over one stream", p.speed_up));
  page.labelled("bottleneck", bottleneck_text(p.bound, p.bound_time, from_microseconds(best_us)));
  page.text += '\n';
  Table table({right("streams"), right("time"), left("95 % interval", 1), right("over the best")});
  for (std::size_t i = 0; i < p.candidates.size(); ++i) {
    const std::uint32_t n = p.candidates[i].streams;
    if (!shown(n, p.streams)) continue;
    const Estimate& e = of.forecast.candidates_us[i];
    table.row({std::to_string(n), time_text(e.value), time_text(e.low) + " .. " + time_text(e.high),
               fmt::format("{:+.1f} %", 100 * (e.value / best_us - 1))});
  }
  page.rows(table);
  page.note(
      "interval: only the scatter of the measured costs, not the error of the model, which npgpu predict --evaluate "
      "measures with real jobs");
  page.note_left_out(table);
  out << page.text;
}

void evaluation_text(std::ostream& out, const Evaluation& e, Detail detail, const TextStyle& style) {
  Page page(style);
  page.title(fmt::format("predictions compared with {} on {}", counted(e.workloads.size(), "measured workload"),
                         e.device_name),
             e.simulated);
  page.text += '\n';
  Table table({left("model"), right("|error| %"), right("p95", 1), right("max", 2), right("regret %"), right("p95", 1),
               right("max", 2), right("hits %"), right("R2", 3)});
  for (const ModelScore& m : e.models)
    table.row({m.model, percent_cell(m.error.median), percent_cell(m.error.p95), percent_cell(m.error.most),
               percent_cell(m.regret.median), percent_cell(m.regret.p95), percent_cell(m.regret.most),
               fmt::format("{:.0f}", 100 * m.hits), std::isfinite(m.r2) ? fmt::format("{:.4f}", m.r2) : "-"});
  page.rows(table);
  page.note(
      "Medians, 95th percentiles and maxima. |error|: times with two and more streams; the kernel's time is the "
      "unsplit job's less its copies. regret: time with the number of streams that the model chose among those "
      "measured, over "
      "the best of them. hits: that number was as good as the best within the noise. Fitted models were fitted to all "
      "workloads except the one they predict.");
  page.note_left_out(table);
  if (detail == Detail::full)
    for (const WorkloadScore& w : e.workloads) {
      page.text += '\n';
      page.note(fmt::format(
          "{} in, {} of {} kernel, {} out, {}: best {}, predicted {}, regret {} %", size_text(w.workload.job.bytes_in),
          time_text(w.kernel_us), name(w.workload.question.workload), size_text(w.workload.job.bytes_out),
          name(w.workload.question.order), w.best, w.simulator().predicted_best, percent_cell(w.simulator().regret)));
      const std::vector<double>& predicted_us = w.simulator().predicted_us;
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < predicted_us.size(); ++i)
        cells.push_back(fmt::format("{}:{} {:+.1f} %", w.workload.streams[i], time_text(w.workload.time_us[i].value),
                                    100 * (predicted_us[i] / w.workload.time_us[i].value - 1)));
      page.text += "    " + wrapped(fmt::format("{}", fmt::join(cells, ", ")), page.width, 4, 4) + '\n';
    }
  out << page.text;
}

}  // namespace npgpu
