// How good predictions are, as a person reads it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/regret.hpp"

namespace npgpu {

namespace {

std::string validated_text(const Estimate& e) {
  if (std::isnan(e.value)) return {};
  return fmt::format(", cross-validated {:.2f} % [{}, {}]", 100 * e.value, percent_cell(e.low), percent_cell(e.high));
}

void without_luck(Page& page, const Evaluation& e) {
  std::vector<NamedRegret> rows;
  for (const ModelScore& m : e.models) {
    rows.push_back({m.model, m.cross_validated});
    if (rows.size() == 1) rows.push_back({m.model + ", as advised", m.advised_cross_validated});
  }
  cross_validated_text(page, "jobs", rows, e.measuring);
}

void by_length(Page& page, const Evaluation& e) {
  Table table({left("simulator, jobs unsplit"), right("jobs"), right("|error| %"), right("p95"), right("max", 1)});
  for (const LengthClass& c : errors_by_length(e, {}).classes)
    if (c.workloads)
      table.row({length_text(c), std::to_string(c.workloads), percent_cell(c.error.median), percent_cell(c.error.p95),
                 percent_cell(c.error.most)});
  page.text += '\n';
  page.rows(table);
}

}  // namespace

void evaluation_text(std::ostream& out, const Evaluation& e, Detail detail, const TextStyle& style) {
  Page page(style);
  page.title(fmt::format("predictions compared with {} on {}", counted(e.workloads.size(), "measured workload"),
                         e.device_name),
             e.simulated);
  page.text += '\n';
  Table table({left("model"), right("|error| %"), right("p95", 1), right("max", 3), right("regret %"), right("p95", 1),
               right("max", 3), right("advised %"), right("p95", 1), right("hits %", 2), right("R2", 4)});
  for (const ModelScore& m : e.models)
    table.row({m.model, percent_cell(m.error.median), percent_cell(m.error.p95), percent_cell(m.error.most),
               percent_cell(m.regret.median), percent_cell(m.regret.p95), percent_cell(m.regret.most),
               percent_cell(m.advised_regret.median), percent_cell(m.advised_regret.p95),
               fmt::format("{:.0f}", 100 * m.hits), std::isfinite(m.r2) ? fmt::format("{:.4f}", m.r2) : "-"});
  page.rows(table);
  page.note(
      "Medians, 95th percentiles and maxima. |error|: times with two and more streams; the kernel's time is the "
      "unsplit job's less its copies, weighed with that of kernels of its sort alone, where these were measured and "
      "are near. regret: time with the number of streams that the model chose among those measured, over "
      "the best of them; in one stream each model knows it. advised: the same with the fewest streams within 1 % of "
      "the least predicted time. hits: that "
      "number was as good as the best within the noise. Fitted models were fitted to all "
      "workloads except the one they predict.");
  page.note_left_out(table);
  if (e.disturbed) page.note(fmt::format("Left out: {} that others disturbed.", counted(e.disturbed, "time")));
  if (std::isfinite(e.calls.value))
    page.note(fmt::format(
        "The host's calls took {:.2f} times as long as the costs say ({:.2f} .. {:.2f}), and predictions of "
        "short jobs are off by as much. 'host as it was' charges each call that much more or less.",
        e.calls.value, e.calls.low, e.calls.high));
  without_luck(page, e);
  by_length(page, e);
  if (detail == Detail::full)
    for (const WorkloadScore& w : e.workloads) {
      page.text += '\n';
      page.note(fmt::format("{} in, {} of {} kernel, {} out, {}: best {}, predicted {}, regret {} %{}",
                            size_text(w.workload.job.bytes_in), time_text(w.kernel_us),
                            name(w.workload.question.workload), size_text(w.workload.job.bytes_out),
                            name(w.workload.question.order), w.best, w.simulator().predicted_best,
                            percent_cell(w.simulator().regret), validated_text(w.simulator().cross_validated)));
      const std::vector<double>& predicted_us = w.simulator().predicted_us;
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < predicted_us.size(); ++i)
        cells.push_back(fmt::format("{}:{} {:+.1f} %", w.workload.streams[i], time_text(w.workload.time_us[i].value),
                                    100 * (predicted_us[i] / w.workload.time_us[i].value - 1)));
      page.text += "    " + wrapped(fmt::format("{}", fmt::join(cells, ", ")), page.width, 4, 4) + '\n';
    }
  out << page.text;
}

void in_turn_text(std::ostream& out, const InTurnErrors& e, const TextStyle& style) {
  if (!e.splits) return;
  Page page(style);
  page.note(fmt::format(
      "Chunks in turn, depth-first in fewer streams: {} measured, |error| {} % in the median, {} % at the "
      "95th percentile, {} % at most",
      counted(e.splits, "split"), percent_cell(e.error.median), percent_cell(e.error.p95), percent_cell(e.error.most)));
  out << page.text;
}

}  // namespace npgpu
