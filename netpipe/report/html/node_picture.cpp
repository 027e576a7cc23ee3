// The host is a bar at the left, what joins GPUs a bar at the right, and each GPU a row between them: so any number of
// GPUs can be drawn, and no two lines cross.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "npgpu/judge/overview.hpp"
#include "npgpu/vocabulary/questions.hpp"

namespace npgpu::html {

namespace {

constexpr std::size_t most_rows = 16;
constexpr double bar_width = 96, link_width = 172, box_width = 190, row_height = 82,
                 gap = 16;  // widths, and heights of rows
constexpr double giga = 1e9;

// A rate, and whether something is wrong with it.
struct Flow {
  double rate = not_measured;  // bytes per second
  CheckVerdict verdict = CheckVerdict::ok;

  bool is_wrong() const { return verdict == CheckVerdict::slow || verdict == CheckVerdict::broken; }
};

std::string flow_text(const char* arrow, const Flow& flow) {
  if (!std::isfinite(flow.rate)) return {};
  return fmt::format("{} {} GB/s{}", arrow, digits_text(flow.rate / giga, 3),
                     flow.is_wrong() ? fmt::format(", {}", name(flow.verdict)) : "");
}

Flow flow_of(const Overview& all, const DeviceOverview& gpu, CopyQuestion question, const char* metric) {
  Flow flow;
  for (const CopyCurve& curve : gpu.copies)
    if (question_of(curve.question) == question && curve.largest()) flow.rate = curve.largest()->rate.value;
  for (const HealthFinding& finding : all.health)
    if (finding.device == gpu.id && finding.metric == metric && finding.health == Health::fail)
      flow.verdict = finding.if_failed;
  return flow;
}

// One-way copies by the copy engines, as most programs make them.
std::optional<std::size_t> matrix_of(const NodeMatrix& node) {
  for (std::size_t i = 0; i < node.matrices.size(); ++i) {
    const RateMatrix& one = node.matrices[i];
    if (!one.is_latency() && !one.both_ways && one.executor == Executor::copy_engine && one.access == Access::write)
      return i;
  }
  return std::nullopt;
}

// From one GPU to the others.
struct Outward {
  double least = not_measured, most = not_measured;
  std::vector<std::string> wrong{};  // "to 3: 19.9 GB/s"
  bool has_wrong_bytes = false;

  bool is_known() const { return std::isfinite(least); }
  std::string text() const {
    const std::string low = digits_text(least / giga, 3), high = digits_text(most / giga, 3);
    return is_known() ? fmt::format("→ {} GB/s", low == high ? low : low + " … " + high) : "";
  }
  std::string wrong_text() const {
    return wrong.size() < 2 ? fmt::format("{}", fmt::join(wrong, ""))
                            : fmt::format("{} to {} GPUs", has_wrong_bytes ? "wrong" : "slow", wrong.size());
  }
};

// A slow pair is the fault of one GPU, or of what joins the two: it is marked where a finding names that GPU, or both.
bool is_marked(const MatrixCell& cell, bool is_slow, const MatrixVerdict& verdict) {
  return std::ranges::any_of(verdict.findings, [&](const NodeFinding& f) {
    const auto names = [&](const std::string& id) { return std::ranges::find(f.devices, id) != f.devices.end(); };
    if (f.health != Health::fail || !names(cell.source)) return false;
    return f.devices.size() == 1 ? is_slow : names(cell.target);
  });
}

Outward outward(const std::string& id, const NodeMatrix& node, const MatrixVerdict& verdict) {
  Outward out;
  if (const auto number = matrix_of(node))
    for (const MatrixCell& cell : node.matrices[*number].cells) {
      if (cell.source != id || cell.target == id || cell.target == "host" || !std::isfinite(cell.value.value)) continue;
      out.least = std::fmin(out.least, cell.value.value);
      out.most = std::fmax(out.most, cell.value.value);
      const CellVerdict* const of = verdict.of(*number, &cell, node);
      if (is_marked(cell, of && of->verdict == CheckVerdict::slow, verdict))
        out.wrong.push_back(
            fmt::format("to {}: {} GB/s", short_end(cell.target), digits_text(cell.value.value / giga, 3)));
    }
  for (const CopyResults& copies : verdict.copies)
    if (copies.source == id && copies.target != id && copies.target != "host" && copies.wrong > 0) {
      out.wrong.push_back(fmt::format("to {}: wrong bytes", short_end(copies.target)));
      out.has_wrong_bytes = true;
    }
  return out;
}

// Between the host and a GPU, as the node's matrix has it.
void judge(Flow& flow, const std::string& source, const std::string& target, const NodeMatrix& node,
           const MatrixVerdict& verdict) {
  if (const auto number = matrix_of(node))
    if (const MatrixCell* const cell = node.matrices[*number].find(source, target))
      if (const CellVerdict* const of = verdict.of(*number, cell, node); of && of->verdict == CheckVerdict::slow)
        flow.verdict = CheckVerdict::slow;
  for (const CopyResults& copies : verdict.copies)
    if (copies.source == source && copies.target == target && copies.wrong > 0) flow.verdict = CheckVerdict::broken;
}

// In lines that fit a bar.
std::vector<std::string> in_lines(const std::string& text) {
  constexpr std::size_t most = 12;
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= most) lines.back() += ' ' + word;
    else lines.push_back(word);
    begin = end + 1;
  }
  return lines;
}

std::string text_at(double x, double y, const std::string& text, const char* classes = "") {
  return text.empty() ? ""
                      : fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", classes, x, y, html_text(text));
}
std::string bar_at(double x, double height, const std::string& title, const std::string& more) {
  std::vector<std::string> lines = in_lines(more);
  lines.insert(lines.begin(), title);
  std::string out = fmt::format("<rect class=\"node\" x=\"{}\" y=\"4\" width=\"{}\" height=\"{}\" rx=\"4\"/>\n", x,
                                bar_width, height - 8);
  const double first = height / 2 + 4 - 8 * static_cast<double>(lines.size() - 1);
  for (std::size_t i = 0; i < lines.size(); ++i)
    out += text_at(x + bar_width / 2, first + 16 * static_cast<double>(i), lines[i], i == 0 ? "x strong" : "x");
  return out;
}
std::string link_at(double x, double y, bool is_wrong, const std::string& above, const std::string& below) {
  return fmt::format("<path class=\"link{}\" d=\"M{} {}h{}\"/>\n", is_wrong ? " bad" : "", x, y, link_width) +
         text_at(x + link_width / 2, y - 8, above, is_wrong ? "x bad" : "x") +
         text_at(x + link_width / 2, y + 19, below, is_wrong ? "x bad" : "x");
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "…";
}

std::string tail_of(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : "…" + text.substr(text.size() - (most - 1));
}

struct Row {
  std::string drawn, spoken;
  bool has_rates = false, has_peers = false;  // with the host, with other GPUs
};

Row row_of(double y, const Overview& all, const DeviceOverview& gpu, const NodeMatrix& node,
           const MatrixVerdict& verdict) {
  Flow in = flow_of(all, gpu, CopyQuestion::to_device, "h2d_rate"),
       back = flow_of(all, gpu, CopyQuestion::to_host, "d2h_rate");
  judge(in, "host", gpu.id, node, verdict);
  judge(back, gpu.id, "host", node, verdict);
  const std::string down = flow_text("→", in), up = flow_text("←", back);
  std::string last = link_text(gpu.facts);
  for (const Figure& figure : gpu.bandwidth)
    if (figure.name == "read" && figure.is_known())
      last = fmt::format("memory {} GB/s", digits_text(figure.value.value / giga, 4));
  const double middle = y + row_height / 2, left = bar_width + link_width;
  Row row;
  row.drawn = link_at(bar_width, middle, in.is_wrong() || back.is_wrong(), down, up) +
              fmt::format("<rect class=\"gpu\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n", left,
                          y + gap / 2, box_width, row_height - gap);
  const std::string lines[] = {tail_of(gpu.id, 22), shortened(gpu.name, 26), last};
  const double first = middle - (last.empty() ? 4 : 14);
  for (std::size_t i = 0; i < 3; ++i)
    row.drawn +=
        text_at(left + box_width / 2, first + 17 * static_cast<double>(i), lines[i], i == 0 ? "x strong" : "x");
  row.spoken = fmt::format(" {}: {} {}", gpu.id, down, up);
  row.has_rates = !down.empty() || !up.empty();
  const Outward out = outward(gpu.id, node, verdict);
  row.has_peers = out.is_known() || !out.wrong.empty();
  if (!row.has_peers) return row;
  row.drawn += link_at(left + box_width, middle, !out.wrong.empty(), out.text(), out.wrong_text());
  row.spoken += fmt::format(", to other GPUs {}{}{}", out.text(), out.wrong.empty() ? "" : ", ", out.wrong_text());
  return row;
}

}  // namespace

std::string node_picture(const Overview& all, const NodeMatrix& node, const MatrixVerdict& verdict) {
  const std::size_t rows = std::min(all.gpus.size(), most_rows);
  std::string drawn, spoken;
  bool has_peers = false, has_rates = false;
  for (std::size_t i = 0; i < rows; ++i) {
    const DeviceOverview& gpu = all.gpus[i];
    const Row row = row_of(static_cast<double>(i) * row_height, all, gpu, node, verdict);
    has_peers |= row.has_peers;
    has_rates |= row.has_rates;
    drawn += row.drawn;
    spoken += row.spoken;
  }
  if (!has_rates && !has_peers) return {};
  const double height = static_cast<double>(rows) * row_height,
               width = bar_width + link_width + box_width + (has_peers ? link_width + bar_width : 4);
  drawn += bar_at(0, height, "host", link_text(all.gpus.front().facts));
  if (has_peers) drawn += bar_at(width - bar_width, height, "GPUs", node.links.size() == 1 ? node.links.front() : "");
  const std::string more =
      all.gpus.size() > rows ? fmt::format(" {} more GPUs are in the tables.", all.gpus.size() - rows) : "";
  const std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"node-t\" aria-describedby=\"node-d\">\n<title "
      "id=\"node-t\">The node</title>\n<desc id=\"node-d\">{}</desc>\n<g aria-hidden=\"true\">\n{}</g></svg>\n",
      width, height, html_text(spoken.substr(1)), drawn);
  return fmt::format(
      "<figure class=\"node\">{}<figcaption>Rates of large copies: between pinned memory of the host and each GPU, one "
      "way at a time{}.{}</figcaption></figure>\n",
      has_peers ? scrolling(svg, "The node") : svg, has_peers ? ", and from each GPU to the others" : "", more);
}

}  // namespace npgpu::html
