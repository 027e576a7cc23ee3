// A node's devices as tables, and what is wrong with their copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/format.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/numa_section.hpp"
#include "netpipe/report/processes_section.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

void write_matrix_head(Page& page, const NodeMatrix& node) {
  const bool simulated = std::ranges::any_of(node.devices, &NodeMatrix::Device::simulated);
  std::vector<std::string> names, ids;
  for (const NodeMatrix::Device& one : node.devices) {
    ids.push_back(one.id);
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  const std::string which =
      ids.size() <= 2 ? fmt::format("{}", fmt::join(ids, ", ")) : ids.front() + " to " + ids.back();
  page.title(fmt::format("matrix of {}", counted(node.devices.size(), "GPU")), simulated);
  page.labelled("devices", fmt::format("{}: {}", which, fmt::join(names, ", ")));
  if (!node.links.empty()) page.labelled("links", fmt::format("{}", fmt::join(node.links, "; ")));
}

void write_matrix_section(Page& page, Section section) {
  if (section.is_empty()) return;
  if (section.table) {
    page.text += '\n';
    page.note(section.name);
    page.rows(*section.table);
    page.note_left_out(*section.table);
  }
  for (const std::string& note : section.notes) page.note(note);
  for (const Entry& entry : section.entries) page.labelled(entry.label, entry.items.front(), entry.alarm);
}

// The likeliest cause goes with what was found; the others follow.
void write_node_finding(Page& page, const NodeFinding& finding) {
  const bool is_bad = finding.health != Health::pass && finding.health != Health::skip;
  constexpr std::size_t indent = 12;
  if (finding.explanations.empty()) return page.labelled(verdict_word(finding), finding.text, is_bad);
  const Explanation& first = finding.explanations.front();
  page.labelled(verdict_word(finding), finding.text + ". Likely cause: " + first.what, is_bad);
  if (!first.evidence.empty() && first.evidence != finding.text) page.note("read: " + first.evidence, false, indent);
  if (!first.remedy.empty()) page.note("do: " + first.remedy, false, indent);
  for (std::size_t i = 1; i < finding.explanations.size(); ++i) {
    const Explanation& other = finding.explanations[i];
    page.note(fmt::format("or: {}{}{}", other.what, other.evidence.empty() ? "" : fmt::format(" ({})", other.evidence),
                          other.remedy.empty() ? "" : "; " + other.remedy),
              false, indent);
  }
  if (!finding.basis.empty()) page.note("limit: " + finding.basis, false, indent);
}

}  // namespace

void matrix_text(std::ostream& out, const NodeMatrix& node, const TextStyle& style) {
  if (node.devices.empty()) return;
  Page page(style);
  write_matrix_head(page, node);
  for (const RateMatrix& matrix : node.matrices) write_matrix_section(page, rate_section(node, matrix, page.width));
  write_matrix_section(page, together_section(node));
  const bool has_copies = !node.matrices.empty() || !node.together.empty();
  if (has_copies) page.text += '\n';
  for (const std::string& note : matrix_notes(node)) page.note(note);
  if (has_copies || !node.numa.gpus.empty()) write_matrix_section(page, numa_section(node));
  for (const ProcessGpu& gpu : node.processes) write_matrix_section(page, processes_section(gpu));
  out << page.text;
}

void matrix_findings_text(std::ostream& out, const MatrixVerdict& verdict, const TextStyle& style) {
  Page page(style);
  for (const NodeFinding& finding : verdict.findings) write_node_finding(page, finding);
  out << page.text;
}

void matrix_overview(std::ostream& out, const NodeMatrix& node, const TextStyle& style) {
  if (node.matrices.empty()) return;
  Page page(style);
  write_matrix_section(page, rate_section(node, node.matrices.front(), page.width));
  const std::size_t more = node.matrices.size() - 1 + !node.together.empty() + !node.numa.gpus.empty();
  if (more > 0) page.note(counted(more, "more table") + " in npgpu report --all, and on its page (--html)");
  out << page.text << '\n';
}

void matrix_markdown(std::ostream& out, const NodeMatrix& node) {
  if (node.devices.empty()) return;
  std::vector<Section> sections;
  for (const RateMatrix& matrix : node.matrices) sections.push_back(rate_section(node, matrix));
  sections.push_back(together_section(node));
  sections.push_back({.name = "About these tables", .notes = matrix_notes(node)});
  sections.push_back(numa_section(node));
  for (const ProcessGpu& gpu : node.processes) sections.push_back(processes_section(gpu));
  for (const Section& section : sections)
    if (section.table || !section.notes.empty() || !section.entries.empty()) out << section_markdown(section);
}

}  // namespace npgpu
