// A node's devices as tables, and what is wrong with their copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/format.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/series_text.hpp"

namespace npgpu {

namespace {

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

// Below each other, as the tables of a report are.
void add_plain(Document& doc, Section section) {
  if (section.is_empty()) return;
  if (section.table) {
    doc.gap();
    doc.note(section.name);
    doc.table(std::move(*section.table));
    doc.left_out();
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

Document matrix_document(const NodeMatrix& node, std::size_t width) {
  Document doc;
  if (node.devices.empty()) return doc;
  add_head(doc, node);
  for (const RateMatrix& matrix : node.matrices) add_plain(doc, rate_section(node, matrix, width));
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
  out << to_text(matrix_document(node, text_width(style)), style);
}

void matrix_findings_text(std::ostream& out, const MatrixVerdict& verdict, const TextStyle& style) {
  out << to_text(matrix_findings_document(verdict), style);
}

void matrix_overview(std::ostream& out, const NodeMatrix& node, const TextStyle& style) {
  if (node.matrices.empty()) return;
  Document doc;
  add_plain(doc, rate_section(node, node.matrices.front(), text_width(style)));
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
