// The partition method, size by size: what was measured, and which number of streams each model chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "netpipe/report/format.hpp"
#include "netpipe/report/json.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/statistics.hpp"
#include "npgpu/report/report.hpp"

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

// What fp32 loses over its best, with numbers of streams that fp64 suggests.
struct Lost {
  std::vector<double> shares;

  void add(const PartitionRow& fp32, std::uint32_t streams) {
    const auto at = std::ranges::find(fp32.streams, streams);
    if (at == fp32.streams.end()) return;
    const double best = std::ranges::min_element(fp32.time_us, {}, &Estimate::value)->value;
    shares.push_back(fp32.time_us[static_cast<std::size_t>(at - fp32.streams.begin())].value / best - 1);
  }
  std::string text() const {
    return fmt::format("{:.1f} % in the median and {:.1f} % at most", 100 * median(shares),
                       100 * std::ranges::max(shares));
  }
};

// Table V of the paper: how the best numbers of the two types compare, and whether half of fp64's is advice for fp32.
void types(Document& doc, std::span<const PartitionStudy> all) {
  for (const PartitionStudy& one : all)
    for (const PartitionStudy& other : all) {
      if (one.type != Precision::fp32 || other.type != Precision::fp64 || one.device != other.device ||
          one.sub_system != other.sub_system)
        continue;
      int same = 0, half = 0, else_ = 0;
      Lost by_half, by_same;
      for (const PartitionRow& a : one.rows)
        for (const PartitionRow& b : other.rows) {
          if (a.size != b.size) continue;
          ++(a.best == b.best ? same : 2 * a.best == b.best ? half : else_);
          if (b.best < 2) continue;
          by_half.add(a, b.best / 2);
          by_same.add(a, b.best);
        }
      if (same + half + else_ == 0) continue;
      doc.gap();
      doc.note(fmt::format("{}: fp32's best number of streams is fp64's at {} of {} sizes, half of it at {}",
                           one.device, same, same + half + else_, half));
      if (by_half.shares.empty() || by_same.shares.empty()) continue;
      const bool holds = median(by_half.shares) <= median(by_same.shares) &&
                         std::ranges::max(by_half.shares) <= std::ranges::max(by_same.shares);
      doc.note(fmt::format("where fp64 has several, half of them cost fp32 {} over its best, as many {}: {}",
                           by_half.text(), by_same.text(),
                           holds ? "take half for fp32" : "half for fp32 is no better"));
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

// report --json, "partition_studies": of runs of the partition method. Times are microseconds, sizes unknowns.
// cross_validated is the regret without the luck of the least time (npgpu/model/statistics.hpp), null for sizes
// measured in one round; even_us the time with the same host's stage, stage2_us, in all points, and even_regret the
// regret of these. python -m npgpu.study --partitions makes scores of all sizes from these.

struct SplitPoint {
  std::uint32_t streams = 1;
  Estimate time_us{};
  double even_us = not_measured, overhead_us = not_measured, fitted_overhead_us = not_measured, gain_us = not_measured;
};
NPGPU_FORM(SplitPoint, &T::streams, called<"time_us", within<&T::time_us, &Estimate::value>>,
           called<"low_us", within<&T::time_us, &Estimate::low>>,
           called<"high_us", within<&T::time_us, &Estimate::high>>, &T::even_us, &T::overhead_us,
           &T::fitted_overhead_us, &T::gain_us);
struct ModelChoice : PartitionChoice {
  std::string_view model{};
};
// The stages of the unsplit run.
inline constexpr auto stage_words = [] {
  std::array<std::string_view, partition_stages.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = partition_stages[i].name.substr(0, partition_stages[i].name.rfind('_'));
  return all;
}();
using StagesOf = ByWord<stage_words, double>;
NPGPU_FORM(ModelChoice, &T::model, &T::streams, called<"regret", within<&T::regret, &Estimate::value>>,
           called<"regret_low", within<&T::regret, &Estimate::low>>,
           called<"regret_high", within<&T::regret, &Estimate::high>>,
           called<"even_regret", within<&T::even_regret, &Estimate::value>>,
           called<"even_regret_low", within<&T::even_regret, &Estimate::low>>,
           called<"even_regret_high", within<&T::even_regret, &Estimate::high>>,
           called<"cross_validated", within<&T::cross_validated, &Estimate::value>>,
           called<"cross_validated_low", within<&T::cross_validated, &Estimate::low>>,
           called<"cross_validated_high", within<&T::cross_validated, &Estimate::high>>, &T::hit, &T::predicted_us);

namespace {

std::vector<SplitPoint> split_points(const PartitionRow& row) {
  std::vector<SplitPoint> all;
  for (std::size_t i = 0; i < row.streams.size(); ++i)
    all.push_back({row.streams[i], row.time_us[i], row.even_us[i].value, row.overhead_us[i], row.fitted_overhead_us[i],
                   row.gain_us[i]});
  return all;
}
StagesOf stages_of(const PartitionRow& row) {
  StagesOf all;
  std::ranges::transform(row.stages_us, all.all.begin(), &Estimate::value);
  return all;
}
std::vector<ModelChoice> choices_of(const PartitionRow& row) {
  std::vector<ModelChoice> all;
  for (const PartitionModel& by : partition_models) all.push_back({row.choices[all.size()], by.model});
  return all;
}

}  // namespace

NPGPU_FORM(PartitionRow, &T::size, &T::best, called<"stage2_us", within<&T::stage2_us, &Estimate::value>>,
           called<"stages_us", &stages_of>, &T::sum_us, called<"points", &split_points>, called<"choices", &choices_of>,
           called<"measuring", [](const T& row) { return regrets_of_measuring(row.us_by_round); }>);
struct FormQualities : PartitionRegressions {};
NPGPU_FORM(FormQualities, called<"sum", &T::sum_quality>, called<"small", &T::small_quality>,
           called<"big", &T::big_quality>);
NPGPU_DEFINE_FORM(PartitionStudy, &T::device, &T::device_name, &T::simulated, &T::type, &T::sub_system,
                  called<"sizes", &T::rows>, &T::fitted,
                  called<"quality", [](const T& s) { return FormQualities{s.fitted}; }>,
                  called<"models", [](const T&) { return partition_models; }>, &T::missing);

}  // namespace npgpu
