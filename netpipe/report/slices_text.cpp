// The map of L2: a row for each line that several multiprocessors asked for; lines that one asked for, in a sentence.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "netpipe/model/probes/slices.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

std::string span_text(const std::vector<double>& cycles) {
  if (cycles.empty()) return "-";
  const auto [least, most] = std::ranges::minmax(cycles);
  return fmt::format("{:.0f} to {:.0f}", least, most);
}

}  // namespace

void slices_text(Document& doc, const ProbeSeries& probe) {
  const model::SliceMap map = model::slice_map(probe);
  struct Sides {
    std::vector<double> near, far;
  };
  std::map<std::uint32_t, Sides> by_line;
  for (const model::SliceCell& cell : map.cells)
    (cell.is_far ? by_line[cell.offset_bytes].far : by_line[cell.offset_bytes].near).push_back(cell.cycles);
  std::erase_if(by_line, [](const auto& line) { return line.second.near.size() + line.second.far.size() < 2; });
  doc.gap();
  if (!by_line.empty()) {
    Table table({right("line at B"), right("near SMs"), right("cycles"), right("far SMs", 0, map.has_far()),
                 right("cycles", 0, map.has_far())});
    for (const auto& [offset, sides] : by_line)
      table.row({std::to_string(offset), std::to_string(sides.near.size()), span_text(sides.near),
                 std::to_string(sides.far.size()), span_text(sides.far)});
    doc.table(std::move(table));
  }
  if (!map.has_far()) return doc.note("no two groups of times: all lines are near");
  doc.note(fmt::format("L2 has {} partitions, with {} multiprocessors", map.partitions.size(),
                       fmt::join(map.partitions, ", ")));
  if (map.rows.empty()) return;
  doc.gap();
  Table rows({right("lines apart by"), right("lines"), right("near"), right("after one of the other side")});
  for (const model::SliceRow& row : map.rows)
    rows.row({size_text(row.apart_bytes), std::to_string(row.lines), std::to_string(row.near_lines),
              std::to_string(row.changes)});
  doc.table(std::move(rows));
  doc.note(fmt::format("from multiprocessor {}, lines in a row from the set's begin on", map.all_lines.unit));
}

}  // namespace npgpu
