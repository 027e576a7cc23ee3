// A node's devices as tables: sources are rows, targets are columns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/numa_section.hpp"
#include "netpipe/report/processes_section.hpp"
#include "npgpu/matrix.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

constexpr std::string_view host_end = "host";

std::string moved_by(Executor executor) { return executor == Executor::sm_kernel ? "by a kernel" : "by copy engines"; }

bool has_pairs(const RateMatrix& matrix) {
  return std::ranges::any_of(matrix.cells, [](const MatrixCell& cell) {
    return cell.source != host_end && cell.target != host_end && cell.source != cell.target;
  });
}

std::string title_of(const RateMatrix& matrix) {
  switch (matrix.pattern) {
    case Pattern::chase: return "latency of a load, ns: rows load, columns are whose memory it is";
    case Pattern::atomic: return "latency of an atomic addition, ns: rows add, columns are whose memory it is";
    case Pattern::flag: return "time until a flag is seen, ns: half of there and back, rows begin, columns answer";
    default: break;
  }
  const std::string how = !has_pairs(matrix) ? "copies" : matrix.access == Access::read ? "reads" : "writes";
  return fmt::format("{} {}{}, GB/s: rows are copied from, columns to", how, moved_by(matrix.executor),
                     matrix.both_ways ? ", each while the same goes the other way" : "");
}

double in_unit(const RateMatrix& matrix, const Estimate& value) {
  return matrix.is_latency() ? value.value * 1e3 : value.value * 1e-9;
}

class MatrixReport {
 public:
  MatrixReport(Page& page, const NodeMatrix& node) : page_(page), node_(node) {}

  void write() {
    const bool simulated = std::ranges::any_of(node_.devices, &NodeMatrix::Device::simulated);
    page_.title(fmt::format("matrix of {}", counted(node_.devices.size(), "GPU")), simulated);
    page_.labelled("devices", devices_text());
    if (!node_.links.empty()) page_.labelled("links", fmt::format("{}", fmt::join(node_.links, "; ")));
    for (const RateMatrix& matrix : node_.matrices) node_.is_sampled ? sampled(matrix) : table(matrix);
    together();
    if (!node_.matrices.empty() || !node_.together.empty()) notes();
    const bool has_copies = !node_.matrices.empty() || !node_.together.empty();
    if (has_copies || !node_.numa.gpus.empty()) section(numa_section(node_));
    for (const ProcessGpu& gpu : node_.processes) section(processes_section(gpu));
    findings();
  }

 private:
  std::string devices_text() const {
    std::vector<std::string> names;
    for (const NodeMatrix::Device& one : node_.devices)
      if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
    const auto& all = node_.devices;
    const std::string ids =
        all.size() <= 2 ? fmt::format("{}", fmt::join(ids_of(all), ", ")) : all.front().id + " to " + all.back().id;
    return fmt::format("{}: {}", ids, fmt::join(names, ", "));
  }
  static std::vector<std::string> ids_of(const std::vector<NodeMatrix::Device>& all) {
    std::vector<std::string> ids;
    for (const NodeMatrix::Device& one : all) ids.push_back(one.id);
    return ids;
  }
  // The number behind the last colon, which tells the GPUs of a node apart.
  static std::string short_name(const std::string& id) {
    const std::size_t colon = id.rfind(':');
    return colon == std::string::npos ? id : id.substr(colon + 1);
  }

  std::string cell_text(const RateMatrix& matrix, const MatrixCell* cell) {
    if (!cell || !std::isfinite(cell->value.value)) return "-";
    any_doubtful_ |= cell->doubtful;
    any_staged_ |= cell->access == Access::staged;
    const double half = (cell->value.high - cell->value.low) / 2 / cell->value.value;
    if (std::isfinite(half)) widest_ = std::max(widest_, half);
    return digits_text(in_unit(matrix, cell->value)) + (cell->access == Access::staged ? "h" : "") +
           (cell->doubtful ? "*" : "");
  }

  void table(const RateMatrix& matrix) {
    std::vector<std::string> ends = ids_of(node_.devices);
    const auto is_used = [&](const MatrixCell& c) { return c.source == host_end || c.target == host_end; };
    if (std::ranges::any_of(matrix.cells, is_used)) ends.insert(ends.begin(), std::string(host_end));
    std::vector<Column> columns{left("")};
    for (const std::string& target : ends) columns.push_back(right(short_name(target)));
    Table table(std::move(columns));
    for (const std::string& source : ends) {
      std::vector<std::string> cells{short_name(source)};
      for (const std::string& target : ends) cells.push_back(cell_text(matrix, matrix.find(source, target)));
      if (std::ranges::any_of(std::span(cells).subspan(1), [](const std::string& cell) { return cell != "-"; }))
        table.row(std::move(cells));
    }
    page_.text += '\n';
    page_.note(title_of(matrix));
    page_.rows(table);
    page_.note_left_out(table);
  }

  // A row a GPU: the middle of what was measured of it.
  void sampled(const RateMatrix& matrix) {
    Table table({left("GPU"), decimal("median out"), decimal("in"), decimal("slowest out", 1), left("to", 1),
                 decimal("slowest in", 1), left("from", 1), right("pairs", 2)});
    for (const NodeMatrix::Device& gpu : node_.devices) {
      std::vector<double> out, in;
      const MatrixCell *slow_out = nullptr, *slow_in = nullptr;
      for (const MatrixCell& cell : matrix.cells) {
        if (cell.source == host_end || cell.target == host_end || cell.source == cell.target) continue;
        const auto take = [&](std::vector<double>& values, const MatrixCell*& slowest) {
          values.push_back(cell.value.value);
          if (!slowest || cell.value.value < slowest->value.value) slowest = &cell;
        };
        if (cell.source == gpu.id) take(out, slow_out);
        if (cell.target == gpu.id) take(in, slow_in);
      }
      if (out.empty() && in.empty()) continue;
      const auto middle = [&](const std::vector<double>& values) {
        return values.empty() ? std::string("-") : digits_text(median(values) * (matrix.is_latency() ? 1e3 : 1e-9));
      };
      table.row({short_name(gpu.id), middle(out), middle(in), cell_text(matrix, slow_out),
                 slow_out ? short_name(slow_out->target) : "-", cell_text(matrix, slow_in),
                 slow_in ? short_name(slow_in->source) : "-", std::to_string(out.size() + in.size())});
    }
    page_.text += '\n';
    page_.note(title_of(matrix) + "; some pairs of each GPU");
    page_.rows(table);
  }

  void together() {
    if (node_.together.empty()) return;
    Table table({left("at once"), left("by", 1), right("lanes"), decimal("sum GB/s"), decimal("slowest lane"),
                 decimal("fastest lane"), decimal("fairness", 1), left("")});
    for (const LanesTogether& one : node_.together) {
      const auto by_rate = [](const MatrixCell& a, const MatrixCell& b) { return a.value.value < b.value.value; };
      if (one.lanes.empty()) continue;
      const auto [slow, fast] = std::ranges::minmax_element(one.lanes, by_rate);
      const bool peers = one.lanes.front().source != host_end && one.lanes.front().target != host_end;
      any_doubtful_ |= one.doubtful;
      table.row({one.name,
                 fmt::format("{}{}", peers ? (one.access == Access::read ? "reads " : "writes ") : "",
                             moved_by(one.executor)),
                 std::to_string(one.lanes.size()), digits_text(one.sum.value * 1e-9),
                 digits_text(slow->value.value * 1e-9), digits_text(fast->value.value * 1e-9),
                 digits_text(one.fairness, 3), one.doubtful ? "*" : ""});
    }
    page_.text += '\n';
    page_.rows(table);
    page_.note("all lanes ran while each was timed; fairness: rate of the slowest lane over that of the fastest");
  }

  void notes() {
    std::set<std::uint64_t> sizes;
    for (const RateMatrix& matrix : node_.matrices)
      if (!matrix.is_latency())
        for (const MatrixCell& cell : matrix.cells) sizes.insert(cell.bytes);
    std::vector<std::string> texts;
    for (const std::uint64_t bytes : sizes) texts.push_back(size_text(bytes));
    page_.text += '\n';
    if (!texts.empty())
      page_.note(fmt::format("copies of {}; the widest 95 % interval is +-{:.2f} %", fmt::join(texts, " and "),
                             widest_ * 100));
    if (any_staged_) page_.note("h: the two do not see each other's memory, and the driver copies through the host");
    if (any_doubtful_) page_.note("*: unsteady, or disturbed by others");
  }

  void section(Section section) {
    if (section.is_empty()) return;
    if (section.table) {
      page_.text += '\n';
      page_.note(section.name);
      page_.rows(*section.table);
      page_.note_left_out(*section.table);
    }
    for (const std::string& note : section.notes) page_.note(note);
    for (const Entry& entry : section.entries) page_.labelled(entry.label, entry.items.front(), entry.alarm);
  }

  void findings() {
    for (const MatrixFinding& finding : node_.findings) page_.labelled("SLOW", finding.text, true);
    if (node_.findings.empty() && node_.devices.size() > 1 && !node_.matrices.empty())
      page_.labelled(
          "even", fmt::format("nothing is more than {:.0f} % below those that are joined alike", outlier_share * 100));
  }

  Page& page_;
  const NodeMatrix& node_;
  double widest_ = 0;
  bool any_doubtful_ = false, any_staged_ = false;
};

}  // namespace

void matrix_text(std::ostream& out, const NodeMatrix& node, const TextStyle& style) {
  if (node.devices.empty()) return;
  Page page(style);
  MatrixReport(page, node).write();
  out << page.text;
}

}  // namespace npgpu
