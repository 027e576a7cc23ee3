// The partition method, size by size: what was measured, and which number of streams each model chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

// "1e6", "4000": unknowns as the paper writes them.
std::string unknowns_text(std::uint64_t size) {
  return size < 10'000 ? std::to_string(size) : fmt::format("{:g}", static_cast<double>(size));
}

std::string percent_cell(double share) { return std::isfinite(share) ? fmt::format("{:.2f}", 100 * share) : "-"; }

std::string choice_cell(const PartitionChoice& c) {
  if (!c.streams) return "-";
  if (c.regret.value == 0) return std::to_string(*c.streams);
  return fmt::format("{} {:+.2f} %{}", *c.streams, 100 * c.regret.value, c.hit ? " ~" : "");
}

void choices(Document& doc, const PartitionStudy& s) {
  std::vector<Column> columns{right("unknowns"),  decimal("1 stream us"),    right("best"),
                              decimal("best us"), right("95 % interval", 1), right("faster")};
  for (std::size_t m = 0; m + 1 < s.models.size(); ++m)  // the last one is one stream
    columns.push_back(right(s.models[m].model, m == 2 ? 2 : 0, s.models[m].sizes > 0));
  Table table(std::move(columns));
  for (const PartitionRow& row : s.rows) {
    const auto best = static_cast<std::size_t>(std::ranges::find(row.streams, row.best) - row.streams.begin());
    const Estimate& time = row.time_us[best];
    std::vector<std::string> cells{
        unknowns_text(row.size),  digits_text(row.time_us.front().value),
        std::to_string(row.best), digits_text(time.value),
        interval_text(time),      fmt::format("{:.2f}x", row.time_us.front().value / time.value)};
    for (std::size_t m = 0; m + 1 < s.models.size(); ++m) cells.push_back(choice_cell(row.choices[m]));
    table.row(std::move(cells));
  }
  doc.gap();
  doc.table(std::move(table));
  doc.note(
      "Each model's number of streams among those measured, and by how much the measured time there is above the best; "
      "~ within the noise of the two.");
  doc.left_out();
}

void stages(Document& doc, const PartitionStudy& s) {
  if (std::ranges::all_of(s.rows, [](const PartitionRow& r) { return std::isnan(r.sum_us); })) return;
  Table table({right("unsplit, us"), decimal("T1 H2D"), decimal("T1 kernel"), decimal("T1 D2H"), decimal("T2 host"),
               decimal("T3 H2D"), decimal("T3 kernel"), decimal("T3 D2H"), decimal("sum", 1)});
  for (const PartitionRow& row : s.rows) {
    const auto cell = [&](PartitionStage stage) {
      return digits_text(row.stages_us[static_cast<std::size_t>(stage)].value);
    };
    table.row({unknowns_text(row.size), cell(PartitionStage::in1), cell(PartitionStage::kernel1),
               cell(PartitionStage::out1), digits_text(row.stage2_us.value), cell(PartitionStage::in3),
               cell(PartitionStage::kernel3), cell(PartitionStage::out3), digits_text(row.sum_us)});
  }
  doc.gap();
  doc.table(std::move(table));
  doc.note("sum: T1 kernel + T1 D2H + T3 H2D + T3 kernel, what the paper takes streams to hide");
  doc.left_out();
}

void scores(Document& doc, const PartitionStudy& s) {
  Table table({left("model"), right("sizes"), right("regret %"), right("p95", 1), right("max", 3), right("T2 even %"),
               right("p95", 1), right("|error| %"), right("p95", 2), right("max", 4), right("hits %", 3)});
  for (const PartitionScore& m : s.models)
    if (m.sizes)
      table.row({m.model, std::to_string(m.sizes), percent_cell(m.regret.median), percent_cell(m.regret.p95),
                 percent_cell(m.regret.most), percent_cell(m.even_regret.median), percent_cell(m.even_regret.p95),
                 percent_cell(m.error.median), percent_cell(m.error.p95), percent_cell(m.error.most),
                 std::isfinite(m.hits) ? fmt::format("{:.0f}", 100 * m.hits) : "-"});
  doc.gap();
  doc.table(std::move(table));
  doc.note(
      "Medians, 95th percentiles and maxima over sizes. regret: measured time with the number of streams that the "
      "model chose, over the best. T2 even: the same, with the host's stage taking the same time in all runs of a "
      "size, the median; it is the same work in all of them, and most of what they scatter by. |error|: predicted "
      "times with two and more streams. The simulator is not fitted to whole runs; the paper's regressions are fitted "
      "to the sizes other than the one they choose for.");
  doc.left_out();
}

void cross_validated(Document& doc, const PartitionStudy& s) {
  doc.gap();
  if (std::ranges::all_of(s.models, [](const PartitionScore& m) { return m.cross_validated.choices == 0; }))
    return doc.note("There is no cross-validated regret: it takes sizes that were measured in two rounds or more.");
  Table table({left("regret, cross-validated"), right("sizes"), right("mean %"), right("median %"), right("p5"),
               right("p95"), right("worse", 1)});
  for (const PartitionScore& m : s.models)
    if (const CrossValidated& r = m.cross_validated; r.choices)
      table.row({m.model, std::to_string(r.choices), percent_cell(r.mean), percent_cell(r.median), percent_cell(r.p5),
                 percent_cell(r.p95), std::to_string(r.worse)});
  doc.table(std::move(table));
  doc.note(
      "Cross-validated: each round is left out in turn. The others say which number is best, and the round left out "
      "times that number and the model's. The regret above is over the least of noisy times, so that even perfect "
      "advice has some; this one is nearly free of that bias. Below 0 the model's number was better than the one that "
      "the other rounds found. Noise widens both tails alike, and p5 shows by how much. worse: sizes whose 95 % "
      "interval is above 0.");
  doc.left_out();
  if (std::isfinite(s.measuring.median))
    doc.note(
        fmt::format("Measuring in place of predicting: every other round chooses the best number. In the rounds "
                    "between, its regret is {} % in the median and {} % at the 95th percentile; noise alone causes "
                    "that.",
                    percent_cell(s.measuring.median), percent_cell(s.measuring.p95)));
}

void regressions(Document& doc, const PartitionStudy& s) {
  const PartitionRegressions& m = s.fitted;
  const auto quality = [](const RegressionQuality& q) {
    return fmt::format(", R2 {:.5f}, RMSE {:.4g} us, {} rows", q.r2, q.rmse, q.rows);
  };
  doc.gap();
  if (std::isfinite(m.sum_slope))
    doc.labelled("sum", fmt::format("{:.6g} N {:+.6g} us", m.sum_slope, m.sum_start) + quality(m.sum_quality));
  if (std::isfinite(m.small_size))
    doc.labelled("overhead", fmt::format("up to 1e6: {:.6g} N {:+.6g} log10(n) {:+.6g} us", m.small_size, m.small_log,
                                         m.small_start) +
                                 quality(m.small_quality));
  if (std::isfinite(m.big_size))
    doc.labelled("overhead",
                 fmt::format("above: ({:.6g} N {:+.6g}) log2(n^(4/3)) {:+.6g} us", m.big_size, m.big_log, m.big_start) +
                     quality(m.big_quality));
}

// Table V of the paper: how the best numbers of the two types compare.
void types(Document& doc, std::span<const PartitionStudy> all) {
  for (const PartitionStudy& one : all)
    for (const PartitionStudy& other : all) {
      if (one.type != Precision::fp32 || other.type != Precision::fp64 || one.device != other.device ||
          one.sub_system != other.sub_system)
        continue;
      int same = 0, half = 0, else_ = 0;
      for (const PartitionRow& a : one.rows)
        for (const PartitionRow& b : other.rows) {
          if (a.size != b.size) continue;
          ++(a.best == b.best ? same : 2 * a.best == b.best ? half : else_);
        }
      if (same + half + else_ == 0) continue;
      doc.gap();
      doc.note(fmt::format("{}: fp32's best number of streams is fp64's at {} of {} sizes, half of it at {}",
                           one.device, same, same + half + else_, half));
    }
}

}  // namespace

Document partition_document(std::span<const PartitionStudy> all) {
  Document doc;
  for (const PartitionStudy& s : all) {
    if (&s != &all.front()) doc.gap();
    doc.title(fmt::format("tridiagonal partition method, {}, sub-systems of {}, on {}", name(s.type), s.sub_system,
                          device_text(s.device, s.device_name)),
              s.simulated);
    choices(doc, s);
    stages(doc, s);
    scores(doc, s);
    cross_validated(doc, s);
    regressions(doc, s);
    for (const std::string& why : s.missing) doc.note("missing: " + why);
  }
  types(doc, all);
  return doc;
}

void partition_text(std::ostream& out, std::span<const PartitionStudy> all, const TextStyle& style) {
  out << to_text(partition_document(all), style);
}

}  // namespace npgpu
