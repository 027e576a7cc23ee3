// A node's devices as tables, and what is wrong with their copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "netpipe/report/format.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

constexpr std::string_view host_end = "host";

bool is_of_pair(const MatrixCell& cell) {
  return cell.source != host_end && cell.target != host_end && cell.source != cell.target;
}

std::string moved_by(Executor executor) { return executor == Executor::sm_kernel ? "by a kernel" : "by copy engines"; }

Table table_of_cells(const NodeMatrix& node, const RateMatrix& matrix, int significant) {
  const std::vector<std::string> ends = matrix_ends(matrix, node);
  // One card may be a device of two families, cuda:0 and opencl:0.
  std::set<std::string_view> families;
  for (const std::string& end : ends)
    if (end != host_end) families.insert(std::string_view(end).substr(0, end.find(':')));
  const auto called = [&](const std::string& end) { return families.size() > 1 ? end : short_end(end); };
  std::vector<Column> columns{left(matrix.is_latency() ? "ns" : "GB/s")};
  for (const std::string& target : ends) columns.push_back(right(called(target)));
  Table table(std::move(columns));
  for (const std::string& source : ends) {
    std::vector<std::string> cells{called(source)};
    bool is_any = false;
    for (const std::string& target : ends) {
      const MatrixCell* const cell = matrix.find(source, target);
      is_any |= cell != nullptr;
      cells.push_back(cell_text(matrix, cell, significant));
    }
    if (is_any) table.row(std::move(cells));
  }
  return table;
}

// A row a GPU: the middle of what was measured of it.
Table table_of_sampled(const NodeMatrix& node, const RateMatrix& matrix) {
  Table table({left("GPU"), decimal("median out"), decimal("in"), decimal("slowest out", 1), left("to", 1),
               decimal("slowest in", 1), left("from", 1), right("pairs", 2)});
  for (const NodeMatrix::Device& gpu : node.devices) {
    std::vector<double> out, in;
    const MatrixCell *slow_out = nullptr, *slow_in = nullptr;
    for (const MatrixCell& cell : matrix.cells) {
      if (!is_of_pair(cell)) continue;
      const auto take = [&](std::vector<double>& values, const MatrixCell*& slowest) {
        values.push_back(shown_value(matrix, cell));
        if (!slowest || cell.value.value < slowest->value.value) slowest = &cell;
      };
      if (cell.source == gpu.id) take(out, slow_out);
      if (cell.target == gpu.id) take(in, slow_in);
    }
    if (out.empty() && in.empty()) continue;
    const auto middle = [&](const std::vector<double>& values) {
      return values.empty() ? std::string("-") : digits_text(median(values));
    };
    table.row({short_end(gpu.id), middle(out), middle(in), cell_text(matrix, slow_out),
               slow_out ? short_end(slow_out->target) : "-", cell_text(matrix, slow_in),
               slow_in ? short_end(slow_in->source) : "-", std::to_string(out.size() + in.size())});
  }
  return table;
}

bool fits_width(const Table& table, std::size_t width) {
  return std::ranges::all_of(table.lines(width), [](const std::string& row) {
    return row.find('\n') + 1 == row.size();  // it is not folded
  });
}

// "BROKEN", "SLOW", "FAILED", "UNDECIDED", "NOT JUDGED", "OK", "SKIP"
std::string verdict_word(const HealthFinding& finding) {
  if (finding.health != Health::fail) return finding.health == Health::pass ? "OK" : upper_case(name(finding.health));
  return finding.if_failed == CheckVerdict::failed_to_run ? "FAILED" : upper_case(name(finding.if_failed));
}

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

void add_head(Document& doc, const NodeMatrix& node) {
  const bool simulated = std::ranges::any_of(node.devices, &NodeMatrix::Device::simulated);
  std::vector<std::string> names, ids;
  for (const NodeMatrix::Device& one : node.devices) {
    ids.push_back(one.id);
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  const std::string which =
      ids.size() <= 2 ? fmt::format("{}", fmt::join(ids, ", ")) : ids.front() + " to " + ids.back();
  doc.title(fmt::format("matrix of {}", counted(node.devices.size(), "GPU")), simulated);
  doc.labelled("devices", fmt::format("{}: {}", which, fmt::join(names, ", ")));
  if (!node.links.empty()) doc.labelled("links", fmt::format("{}", fmt::join(node.links, "; ")));
}

// "49.95 GB/s between all pairs, 48.81 from the host, 48.81 to it, 97.60 within a GPU"; empty where a rate of a sort
// differs from the others of it by more than nobody would act on, or is doubtful.
std::string uniform_text(const RateMatrix& matrix) {
  constexpr double alike = 1.02;
  struct Sort {
    const char* name;
    double least = not_measured, most = not_measured;
    std::size_t cells = 0;
  };
  Sort sorts[] = {{"between all pairs"}, {"from the host"}, {"to the host"}, {"within each GPU"}};
  for (const MatrixCell& cell : matrix.cells) {
    const std::size_t which = cell.source == host_end      ? 1
                              : cell.target == host_end    ? 2
                              : cell.source == cell.target ? 3
                                                           : 0;
    const double value = shown_value(matrix, cell);
    if (!std::isfinite(value) || cell.doubtful || cell.access == Access::staged) return {};
    Sort& sort = sorts[which];
    sort.least = std::fmin(sort.least, value);
    sort.most = std::fmax(sort.most, value);
    ++sort.cells;
  }
  std::vector<std::string> parts;
  for (const Sort& sort : sorts) {
    if (sort.cells == 0) continue;
    if (sort.most > alike * sort.least) return {};
    const std::string least = digits_text(sort.least), most = digits_text(sort.most);
    parts.push_back(fmt::format("{} {}", least == most ? least : least + " to " + most, sort.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Below each other, as the tables of a report are.
void add_plain(Document& doc, Section section) {
  if (section.is_empty()) return;
  if (section.table) {
    doc.gap();
    doc.note(section.name);
    doc.table(std::move(*section.table));
  }
  for (const std::string& note : section.notes) doc.note(note);
  for (Entry& entry : section.entries) doc.add(std::move(entry));
}

// The likeliest cause goes with what was found; the others follow.
void add_finding(Document& doc, const NodeFinding& finding) {
  const bool is_bad = finding.health != Health::pass && finding.health != Health::skip;
  constexpr std::size_t indent = 12;
  if (finding.explanations.empty()) return doc.labelled(verdict_word(finding), finding.text, is_bad);
  const Explanation& first = finding.explanations.front();
  doc.labelled(verdict_word(finding), finding.text + ". Likely cause: " + first.what, is_bad);
  if (!first.evidence.empty() && first.evidence != finding.text) doc.note("read: " + first.evidence, false, indent);
  if (!first.remedy.empty()) doc.note("do: " + first.remedy, false, indent);
  for (std::size_t i = 1; i < finding.explanations.size(); ++i) {
    const Explanation& other = finding.explanations[i];
    doc.note(fmt::format("or: {}{}{}", other.what, other.evidence.empty() ? "" : fmt::format(" ({})", other.evidence),
                         other.remedy.empty() ? "" : "; " + other.remedy),
             false, indent);
  }
  if (!finding.basis.empty()) doc.note("limit: " + finding.basis, false, indent);
}

}  // namespace

std::string title_of(const RateMatrix& matrix) {
  switch (matrix.pattern) {
    case Pattern::chase: return "latency of a load, ns: by the device of the row, from the memory of the column";
    case Pattern::atomic:
      return "latency of an atomic addition, ns: by the device of the row, to the memory of the column";
    case Pattern::flag: return "time until a flag is seen, ns: half of there and back, rows begin, columns answer";
    default: break;
  }
  const bool has_pairs = std::ranges::any_of(matrix.cells, is_of_pair);
  const std::string how = !has_pairs ? "copies" : matrix.access == Access::read ? "reads" : "writes";
  return fmt::format("{} {}{}, GB/s: rows are copied from, columns to", how, moved_by(matrix.executor),
                     matrix.both_ways ? ", each while the same goes the other way" : "");
}

std::vector<std::string> matrix_ends(const RateMatrix& matrix, const NodeMatrix& node) {
  std::vector<std::string> ends;
  for (const NodeMatrix::Device& one : node.devices) ends.push_back(one.id);
  const auto has_host = [](const MatrixCell& c) { return c.source == host_end || c.target == host_end; };
  if (std::ranges::any_of(matrix.cells, has_host)) ends.insert(ends.begin(), std::string(host_end));
  return ends;
}

std::string short_end(const std::string& id) {
  const std::size_t colon = id.rfind(':');
  return colon == std::string::npos ? id : id.substr(colon + 1);
}

double shown_value(const RateMatrix& matrix, const MatrixCell& cell) {
  return matrix.is_latency() ? cell.value.value * 1e3 : cell.value.value * 1e-9;
}

std::string cell_text(const RateMatrix& matrix, const MatrixCell* cell, int significant) {
  if (!cell || !std::isfinite(cell->value.value)) return "-";
  return digits_text(shown_value(matrix, *cell), significant) + (cell->access == Access::staged ? "h" : "") +
         (cell->doubtful ? "*" : "");
}

Section rate_section(const NodeMatrix& node, const RateMatrix& matrix, std::optional<std::size_t> width) {
  Section section{.name = title_of(matrix)};
  if (node.is_sampled) {
    section.name += "; some pairs of each GPU";
    section.table = table_of_sampled(node, matrix);
    return section;
  }
  constexpr int most_digits = 4, fewest_digits = 2;
  int digits = most_digits;
  section.table = table_of_cells(node, matrix, digits);
  while (width && digits > fewest_digits && !fits_width(*section.table, *width))
    section.table = table_of_cells(node, matrix, --digits);
  return section;
}

Section together_section(const NodeMatrix& node) {
  Section section{.name = "many copies at once, GB/s"};
  Table table({left("at once"), left("by"), right("lanes"), decimal("sum GB/s"), decimal("slowest lane"),
               decimal("fastest lane", 1), decimal("fairness", 2), left("")});
  bool is_any = false;
  for (const LanesTogether& one : node.together) {
    if (one.lanes.empty()) continue;
    is_any = true;
    const auto by_rate = [](const MatrixCell& a, const MatrixCell& b) { return a.value.value < b.value.value; };
    const auto [slow, fast] = std::ranges::minmax_element(one.lanes, by_rate);
    const bool peers = one.lanes.front().source != host_end && one.lanes.front().target != host_end;
    table.row(
        {one.name,
         fmt::format("{}{}", peers ? (one.access == Access::read ? "reads " : "writes ") : "", moved_by(one.executor)),
         std::to_string(one.lanes.size()), digits_text(one.sum.value * 1e-9), digits_text(slow->value.value * 1e-9),
         digits_text(fast->value.value * 1e-9), digits_text(one.fairness, 3), one.doubtful ? "*" : ""});
  }
  if (!is_any) return {};
  section.table = std::move(table);
  section.notes.emplace_back(
      "all lanes ran while each was timed; fairness: rate of the slowest lane over that of the fastest");
  return section;
}

std::vector<std::string> matrix_notes(const NodeMatrix& node) {
  std::set<std::uint64_t> sizes;
  double widest = 0;
  bool any_staged = false, any_doubtful = false;
  for (const RateMatrix& matrix : node.matrices)
    for (const MatrixCell& cell : matrix.cells) {
      any_staged |= cell.access == Access::staged;
      any_doubtful |= cell.doubtful;
      const double half = (cell.value.high - cell.value.low) / 2 / cell.value.value;
      if (std::isfinite(half)) widest = std::max(widest, half);
      if (!matrix.is_latency()) sizes.insert(cell.bytes);
    }
  for (const LanesTogether& one : node.together) any_doubtful |= one.doubtful;
  std::vector<std::string> texts, notes;
  for (const std::uint64_t bytes : sizes) texts.push_back(size_text(bytes));
  if (!texts.empty())
    notes.push_back(
        fmt::format("copies of {}; the widest 95 % interval is +-{:.2f} %", fmt::join(texts, " and "), widest * 100));
  if (any_staged)
    notes.emplace_back("h: the two do not see each other's memory, and the driver copies through the host");
  if (any_doubtful) notes.emplace_back("*: unsteady, or disturbed by others");
  return notes;
}

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

std::string value_text(const SharedMetric& metric, double value) {
  if (const auto unit = named<FigureUnit>(metric.unit)) return figure_text(value, *unit);
  return fmt::format("{} {}", digits_text(value), metric.unit);  // a clock
}

std::string change_text(double share) {
  const std::string text = fmt::format("{:+.1f} %", 100 * share);
  return text == "-0.0 %" || text == "+0.0 %" ? "0.0 %" : text;
}

Section among_section(const AmongOthers& of) {
  Section section{
      .name = fmt::format("{} among {} of others", of.gpu, counted(of.cards, of.name.empty() ? "GPU" : of.name))};
  if (of.rows.empty()) {
    section.name = fmt::format("{} among others", of.gpu);
    section.notes.push_back("no shared file has figures of a " + of.name);
    return section;
  }
  Table table({left(of.gpu), right("here"), right("95 %", 2), right("others: median"), right("least", 1),
               right("most", 1), right("here against it"), left("")});
  for (const AmongOthers::Row& row : of.rows) {
    const double typical = row.typical();
    const std::string interval =
        std::isfinite(row.own.low + row.own.high)
            ? fmt::format("{:+.1f} .. {:+.1f} %", 100 * (row.own.low / typical - 1), 100 * (row.own.high / typical - 1))
            : "-";
    table.row({"  " + std::string(row.metric.name), value_text(row.metric, row.own.value), interval,
               value_text(row.metric, typical), value_text(row.metric, row.others.front()),
               value_text(row.metric, row.others.back()), change_text(row.change()),
               !row.is_beyond() ? ""
               : row.is_worse() ? "worse than all"
                                : "better than all"});
  }
  section.table = std::move(table);
  section.notes.emplace_back("95 %: the interval here, against the others' median. Others are one value a GPU");
  return section;
}

Document matrix_document(const NodeMatrix& node, std::size_t width) {
  Document doc;
  if (node.devices.empty()) return doc;
  add_head(doc, node);
  constexpr std::size_t fewest = 3;  // a table of two GPUs takes no more lines
  for (const RateMatrix& matrix : node.matrices) {
    const std::string all = node.devices.size() < fewest || node.is_sampled ? "" : uniform_text(matrix);
    const std::string title = title_of(matrix);
    if (all.empty()) add_plain(doc, rate_section(node, matrix, width));
    else doc.note(fmt::format("{}: {}", title.substr(0, title.find(": ")), all));
  }
  add_plain(doc, together_section(node));
  const bool has_copies = !node.matrices.empty() || !node.together.empty();
  if (has_copies) doc.gap();
  for (const std::string& note : matrix_notes(node)) doc.note(note);
  if (has_copies || !node.numa.gpus.empty()) add_plain(doc, numa_section(node));
  return doc;
}

Document matrix_findings_document(const MatrixVerdict& verdict) {
  Document doc;
  for (const NodeFinding& finding : verdict.findings) add_finding(doc, finding);
  return doc;
}

void matrix_text(std::ostream& out, const NodeMatrix& node, const TextStyle& style) {
  out << to_text(matrix_document(node, table_width(style)), style);
}

void matrix_findings_text(std::ostream& out, const MatrixVerdict& verdict, const TextStyle& style) {
  out << to_text(matrix_findings_document(verdict), style);
}

void matrix_overview(std::ostream& out, const NodeMatrix& node, const TextStyle& style) {
  if (node.matrices.empty()) return;
  Document doc;
  add_plain(doc, rate_section(node, node.matrices.front(), table_width(style)));
  const std::size_t more = node.matrices.size() - 1 + !node.together.empty() + !node.numa.gpus.empty();
  if (more > 0) doc.note(counted(more, "more table") + " in npgpu report --all, and on its page (--html)");
  doc.gap();
  out << to_text(doc, style);
}

void matrix_markdown(std::ostream& out, const NodeMatrix& node) {
  if (node.devices.empty()) return;
  Document doc;
  const auto add = [&](Section section) {
    if (!section.is_empty()) doc.add(std::move(section));
  };
  for (const RateMatrix& matrix : node.matrices) add(rate_section(node, matrix));
  add(together_section(node));
  add({.name = "About these tables", .notes = matrix_notes(node)});
  add(numa_section(node));
  out << to_markdown(doc);
}

}  // namespace npgpu
