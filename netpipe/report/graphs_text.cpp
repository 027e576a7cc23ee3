// Jobs measured as CUDA graphs beside the same jobs in streams, and what was predicted of both.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/document.hpp"
#include "netpipe/report/format.hpp"

namespace npgpu {

namespace {

// The best split, by what was measured and by what was predicted.
struct BestSplit {
  std::uint32_t streams = 1;
  double measured_us = not_measured, predicted_us = not_measured;
};
BestSplit best_split(const MeasuredWorkload& w, const std::vector<double>& predicted_us) {
  const auto best = std::ranges::min_element(w.time_us, {}, &Estimate::value) - w.time_us.begin();
  const auto at = static_cast<std::size_t>(best);
  return {w.streams[at], w.time_us[at].value, *std::ranges::min_element(predicted_us)};
}

std::string gain_text(double graph_us, double streams_us) {
  return fmt::format("{:+.1f}", 100 * (1 - graph_us / streams_us));
}

std::string measured_text(const BestSplit& s) {
  return fmt::format("{} in {:>2}", time_text(s.measured_us), s.streams);
}

}  // namespace

void graphs_text(std::ostream& out, std::span<const GraphComparison> all, const TextStyle& style) {
  if (all.empty()) return;
  Document doc;
  doc.title(counted(all.size(), "job") + " as CUDA graphs and in streams, the best split of each");
  doc.gap();
  Table table({right("in"), right("kernel"), right("out"), right("in streams"), right("predicted", 1),
               right("as a graph"), right("predicted", 1), right("gain %"), right("predicted")});
  std::vector<double> missed;
  for (const GraphComparison& one : all) {
    const BestSplit s = best_split(one.streams, one.streams_us), g = best_split(one.graph, one.graph_us);
    table.row({about_size_text(static_cast<double>(one.streams.job.bytes_in)), time_text(one.kernel_us),
               about_size_text(static_cast<double>(one.streams.job.bytes_out)), measured_text(s),
               time_text(s.predicted_us), measured_text(g), time_text(g.predicted_us),
               gain_text(g.measured_us, s.measured_us), gain_text(g.predicted_us, s.predicted_us)});
    missed.push_back(std::abs(g.predicted_us / s.predicted_us - g.measured_us / s.measured_us));
  }
  doc.table(std::move(table));
  const Spread error = graph_error(all), gain = spread_of(missed);
  doc.note(
      fmt::format("Predicted times of graphs are off by {:.2f} % in the median and {:.2f} % at the 95th percentile "
                  "of all splits into two and more; what a graph gains, by {:.1f} and {:.1f} percentage points. "
                  "Times are measured ones in as many streams or chains as were best; a graph is instantiated before "
                  "the clock starts.",
                  100 * error.median, 100 * error.p95, 100 * gain.median, 100 * gain.p95));
  doc.left_out();
  out << to_text(doc, style);
}

}  // namespace npgpu
