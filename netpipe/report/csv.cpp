// Tables for other programs: samples and points as CSV.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "netpipe/judge/overview/parts.hpp"
#include "netpipe/report/csv_rows.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

std::string case_name(const TransferCase& c) {
  const bool by_kernel = c.module == "cudaKernel" && c.executor == Executor::sm_kernel;
  const bool is_named =
      c.direction == Direction::h2h || c.module == "cudaMemcpy" || c.module == "simulated" || by_kernel;
  std::string text = (is_named ? "" : c.module + ": ") + model::full_copy_name(c);
  if (!c.more_lanes.empty()) text += ": " + lanes_text(c.more_lanes);
  return text;
}

// export --format csv: a header row, then a row for each sample or point. Times of samples are of all repeats together,
// exactly as they came.

namespace {

using csv::Row;

template <class K> Row names_of_case() {
  return Row().add("series").add_names<typename K::Case>().add("device_name", "simulated");
}
template <class K> Row row_of(const Series<K>& series, std::size_t index) {
  return Row().add(index).add_fields(series.question).add(series.device_name, series.simulated);
}

template <class K> void samples(std::ostream& out, const std::vector<Series<K>>& all) {
  names_of_case<K>().template add_names<Visit<K>>().template add_names<typename K::Sample>().end(out);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Row front = row_of(all[i], i);
    for (const auto& sample : all[i].samples) {
      Row row = front;
      if (sample.visit < all[i].visits.size()) {
        const Visit<K>& visit = all[i].visits[sample.visit];
        row.add_fields(visit.axes).add_fields(static_cast<const VisitInfo&>(visit));
      } else {  // its empty fields say that it belongs to no visit
        row.template add_empty<typename K::Axes>().template add_empty<VisitInfo>();
      }
      row.add_fields(sample).end(out);
    }
  }
}

}  // namespace

void export_csv(std::ostream& out, const Trace& trace, const CsvTable& table) {
  export_csv(out, std::span(&trace, 1), table);
}

void export_csv(std::ostream& out, std::span<const Trace> runs, const CsvTable& table) {
  if (std::ranges::find(Kinds::names, table.kind) == Kinds::names.end())
    throw Error(ErrorKind::usage,
                fmt::format("--table: '{}' is none of {}", table.kind, fmt::join(Kinds::names, ", ")));
  std::vector<std::string_view> there;
  for_each_kind([&]<class K>() {
    const bool any = std::ranges::any_of(runs, [&](const Trace& run) {
      return std::ranges::any_of(run.of<K>(), [&](const Series<K>& series) {
        return table.rows == CsvRows::summary ? !series.visits.empty() : !series.samples.empty();
      });
    });
    if (any) there.push_back(K::name);
    if (any && table.kind == K::name)
      table.rows == CsvRows::summary ? csv::summary<K>(out, runs) : samples(out, runs.front().of<K>());
  });
  if (std::ranges::find(there, table.kind) == there.end())
    throw Error(ErrorKind::usage,
                fmt::format("--table {}: the trace has no {} of this kind; it has {}{}", table.kind, name(table.rows),
                            there.empty() ? "none of any" : "those of ", fmt::join(there, ", ")));
}

}  // namespace npgpu

namespace npgpu::csv {

// export --summary: a row for each point, and lane where there are several. data/TABLES.md is the contract: a column
// that changes its meaning changes there, and its name with it.

namespace {

constexpr std::array<std::pair<Cause, std::string_view>, 10> cause_words{{{Cause::host_busy, "host-busy"},
                                                                          {Cause::cpu_steal, "host-taken"},
                                                                          {Cause::core_shared, "core-shared"},
                                                                          {Cause::device_busy, "device-busy"},
                                                                          {Cause::link_busy, "link-busy"},
                                                                          {Cause::throttled, "throttled"},
                                                                          {Cause::clock_changed, "clock-changed"},
                                                                          {Cause::memory_freed, "memory-freed"},
                                                                          {Cause::siblings, "siblings"},
                                                                          {Cause::host_limited, "host-limited"}}};

std::string words_of(std::uint32_t causes) {
  std::string words;
  for (const auto& [cause, word] : cause_words)
    if (causes & static_cast<std::uint32_t>(cause)) words += (words.empty() ? "" : ";") + std::string(word);
  return words;
}

std::string disturbers_text(const PointInfo& point) {
  const auto all = disturbers_of(point);
  return point.disturbed() ? fmt::format("{}", fmt::join(all, ";")) : "";
}

// NaN where no visit knows it.
double median_of(const std::vector<const VisitInfo*>& visits, double Telemetry::*what) {
  std::vector<double> values;
  for (const VisitInfo* visit : visits)
    if (std::isfinite(visit->telemetry.*what)) values.push_back(visit->telemetry.*what);
  return values.empty() ? not_measured : median(values);
}

void add_figure(Row& row, const Estimate& figure, std::string_view counts, const ResultInfo& r,
                const PointInfo& point) {
  const auto counted = point.counted();
  row.add(r.lane, figure.value, figure.low, figure.high, figure.unit, counts)
      .add(r.time_us.value, r.time_us.low, r.time_us.high, r.min_us, r.max_us)
      .add(point.visits.size(), counted.size(), r.trials)
      .add(median_of(counted, &Telemetry::sm_clock_mhz), median_of(counted, &Telemetry::memory_clock_mhz),
           median_of(counted, &Telemetry::power_w), median_of(counted, &Telemetry::temperature_c))
      .add(r.stop, words_of(r.causes), disturbers_text(point), r.why);
}

template <class K> void summary_of(std::ostream& out, const Trace& trace) {
  const auto& all = trace.of<K>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Row front;
    front.add(trace.root.run_uuid, trace.root.hostname, trace.root.start_time_utc, K::name, i)
        .add(case_name(all[i].question))
        .add_fields(all[i].question)
        .add(all[i].device_uuid, all[i].device_name, all[i].simulated);
    const auto points = points_by_axes(all[i]);
    for (const Result<K>& r : results(all[i])) {
      Row row = front;
      add_figure(row.add_fields(r.axes), K::figure(all[i].question, r), K::counted(all[i].question, r), r,
                 points.at(r.axes));
      row.end(out);
    }
  }
}

}  // namespace

template <class K> void summary(std::ostream& out, std::span<const Trace> runs) {
  Row()
      .add("run_uuid", "host", "date", "kind", "series", "case_name")
      .add_names<typename K::Case>()
      .add("device_uuid", "device_name", "simulated")
      .template add_names<typename K::Axes>()
      .add("lane", "value", "low", "high", "unit", "counts", "time_us", "time_low_us", "time_high_us", "min_us",
           "max_us", "visits", "visits_counted", "trials", "sm_clock_mhz", "memory_clock_mhz", "power_w",
           "temperature_c", "stop", "disturbed", "disturbed_by", "unusable")
      .end(out);
  for (const Trace& run : runs) summary_of<K>(out, run);
}

NPGPU_FOR_KINDS(&summary<K>)

}  // namespace npgpu::csv
