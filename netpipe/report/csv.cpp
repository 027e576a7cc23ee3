// export --format csv: a header row, then a row for each sample or point. Times of samples are of all repeats together,
// exactly as they came.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/csv_rows.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

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
      if (sample.visit < all[i].visits.size()) row.add_fields(all[i].visits[sample.visit]);
      else row.template add_empty<Visit<K>>();  // its empty fields say that it belongs to no visit
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
