#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "netpipe/report/format.hpp"
#include "netpipe/report/matrix_sections.hpp"

namespace npgpu {

namespace {

constexpr Direction directions[] = {Direction::h2d, Direction::d2h};

std::string node_text(int node) { return node < 0 ? "-" : std::to_string(node); }

Table table_of(const NumaMatrix& numa) {
  std::vector<Column> columns{left("GPU"), right("system says"), right("fastest")};
  for (const int node : numa.host_nodes)
    for (const Direction direction : directions)
      columns.push_back(decimal(fmt::format("{} {}", name(direction), node)));
  Table table(std::move(columns));
  for (const NumaGpu& gpu : numa.gpus) {
    std::vector<std::string> cells{gpu.id, node_text(gpu.system_node), node_text(gpu.fastest_node)};
    for (const int node : numa.host_nodes)
      for (const Direction direction : directions) {
        const NumaCell* const cell = gpu.find(node, direction);
        cells.push_back(cell ? digits_text(cell->rate.value * 1e-9) + (cell->doubtful ? "*" : "") : "-");
      }
    table.row(std::move(cells));
  }
  return table;
}

std::string note_of(const NumaMatrix& numa) {
  std::set<std::string> sizes;
  bool is_any_doubtful = false;
  for (const NumaGpu& gpu : numa.gpus)
    for (const NumaCell& cell : gpu.cells) {
      sizes.insert(size_text(cell.bytes));
      is_any_doubtful |= cell.doubtful;
    }
  return fmt::format("copies of {}, buffers and thread on the NUMA node; costs have the intervals of both rates{}",
                     fmt::join(sizes, " and "), is_any_doubtful ? "; *: unsteady, or disturbed by others" : "");
}

}  // namespace

Section numa_section(const NodeMatrix& node) {
  const NumaMatrix& numa = node.numa;
  Section section{.name = "copies between NUMA nodes of the host and GPUs, GB/s: pinned memory, by copy engines"};
  if (numa.gpus.empty()) {
    if (numa.host_nodes.size() == 1)
      section.notes.emplace_back("the host has one NUMA node: there is no other that could be slower");
    return section;
  }
  section.table = table_of(numa);
  section.notes.push_back(note_of(numa));
  for (const MatrixFinding& finding : numa.costs) section.entries.push_back({"NUMA", {finding.text}});
  return section;
}

}  // namespace npgpu
