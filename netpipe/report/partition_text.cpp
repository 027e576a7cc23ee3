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

std::string choice_cell(const PartitionChoice& c) {
  if (!c.streams) return "-";
  if (c.regret.value == 0) return std::to_string(*c.streams);
  return fmt::format("{} {:+.2f} %{}", *c.streams, 100 * c.regret.value, c.hit ? " ~" : "");
}

void choices(Document& doc, const PartitionStudy& s) {
  std::vector<Column> columns{right("unknowns"),  decimal("1 stream us"),    right("best"),
                              decimal("best us"), right("95 % interval", 1), right("faster")};
  for (std::size_t m = 0; m + 1 < partition_models.size(); ++m)  // the last one is one stream
    columns.push_back(
        right(std::string(partition_models[m].model), m == 2 ? 2 : 0,
              std::ranges::any_of(s.rows, [m](const PartitionRow& r) { return r.choices[m].streams.has_value(); })));
  Table table(std::move(columns));
  for (const PartitionRow& row : s.rows) {
    const auto best = static_cast<std::size_t>(std::ranges::find(row.streams, row.best) - row.streams.begin());
    const Estimate& time = row.time_us[best];
    std::vector<std::string> cells{
        unknowns_text(row.size),  digits_text(row.time_us.front().value),
        std::to_string(row.best), digits_text(time.value),
        interval_text(time),      fmt::format("{:.2f}x", row.time_us.front().value / time.value)};
    for (std::size_t m = 0; m + 1 < partition_models.size(); ++m) cells.push_back(choice_cell(row.choices[m]));
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
  constexpr std::size_t of_part_1 = partition_stages.size() / 2;
  std::vector<Column> columns{right("unsplit, us")};
  for (const PartitionStage& stage : partition_stages) columns.push_back(decimal(std::string(stage.in_paper)));
  columns.insert(columns.begin() + 1 + of_part_1, decimal("T2 host"));
  columns.push_back(decimal("sum", 1));
  Table table(std::move(columns));
  for (const PartitionRow& row : s.rows) {
    std::vector<std::string> cells{unknowns_text(row.size)};
    for (const Estimate& us : row.stages_us) cells.push_back(digits_text(us.value));
    cells.insert(cells.begin() + 1 + of_part_1, digits_text(row.stage2_us.value));
    cells.push_back(digits_text(row.sum_us));
    table.row(std::move(cells));
  }
  doc.gap();
  doc.table(std::move(table));
  doc.note("sum: T1 kernel + T1 D2H + T3 H2D + T3 kernel, what the paper takes streams to hide");
  doc.left_out();
}

void regressions(Document& doc, const PartitionStudy& s) {
  const PartitionRegressions& m = s.fitted;
  const auto quality = [](const RegressionQuality& q, std::size_t parameters) {
    if (q.rows <= parameters) return fmt::format(", through its {} rows", q.rows);
    return fmt::format(", R2 {:.5f}, RMSE {:.4g} us, {} rows", q.r2, q.rmse, q.rows);
  };
  doc.gap();
  if (std::isfinite(m.sum_slope))
    doc.labelled("sum", fmt::format("{:.6g} N {:+.6g} us", m.sum_slope, m.sum_start) + quality(m.sum_quality, 2));
  if (std::isfinite(m.small_size))
    doc.labelled("overhead", fmt::format("up to 1e6: {:.6g} N {:+.6g} log10(n) {:+.6g} us", m.small_size, m.small_log,
                                         m.small_start) +
                                 quality(m.small_quality, 3));
  if (std::isfinite(m.big_size))
    doc.labelled("overhead",
                 fmt::format("above: ({:.6g} N {:+.6g}) log2(n^(4/3)) {:+.6g} us", m.big_size, m.big_log, m.big_start) +
                     quality(m.big_quality, 3));
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

Document document_of(std::span<const PartitionStudy> all) {
  Document doc;
  for (const PartitionStudy& s : all) {
    if (&s != &all.front()) doc.gap();
    doc.title(fmt::format("tridiagonal partition method, {}, sub-systems of {}, on {}", name(s.type), s.sub_system,
                          device_text(s.device, s.device_name)),
              s.simulated);
    choices(doc, s);
    stages(doc, s);
    regressions(doc, s);
    for (const std::string& why : s.missing) doc.note("missing: " + why);
  }
  types(doc, all);
  if (!all.empty())
    doc.note(
        "python -m npgpu.study --partitions says what the choices cost over all sizes, and how far times are off.");
  return doc;
}

}  // namespace

Document partition_document(const TraceResults& of) { return document_of(of.partitions); }

void partition_text(std::ostream& out, std::span<const PartitionStudy> all, const TextStyle& style) {
  out << to_text(document_of(all), style);
}

}  // namespace npgpu
