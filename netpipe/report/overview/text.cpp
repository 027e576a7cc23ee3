// The overview as a document.
#include "netpipe/report/among_section.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/trace_results.hpp"

namespace npgpu {

namespace {

Document head_document(const Overview& all, const std::string& headline) {
  Document doc;
  doc.add(Document::Head{headline, run_text(all), who_of(all), headline.starts_with("SIMULATED")});
  return doc;
}

void add(Document& doc, std::vector<Section> sections) {
  for (Section& section : sections) doc.add(std::move(section));
}

Document::Head& head_of(Document& doc) { return std::get<Document::Head>(doc.blocks.front()); }

}  // namespace

void report_overview(std::ostream& out, const TraceResults& of, const Overview& all, const TextStyle& style) {
  const Extent extent = style.width < 120 ? Extent::screen : Extent::wide;
  Document doc = head_document(all, headline_of(all));
  doc.add(health_section(all, extent));
  add(doc, study_sections(of));
  add(doc, sections_of(all, extent, style.series_in_trace));
  out << to_text(doc, style);
}

bool report_glance(std::ostream& out, const Overview& all, const TextStyle& style) {
  std::vector<Section> sections = glance_of(all, style.series_in_trace);
  if (sections.empty()) return false;
  const std::string verdict = is_simulated(all) ? "" : ": " + upper_case(name(verdict_of(all)));
  Document doc = head_document(all, headline_of(all) + verdict);
  add(doc, std::move(sections));
  head_of(doc).one_line_each = true;
  out << to_text(doc, style);
  return true;
}

void report_markdown(std::ostream& out, const TraceResults& of, const Overview& all, std::size_t series_in_trace) {
  Document doc = head_document(all, headline_of(all));
  if (!all.run.argv.empty()) head_of(doc).entries.push_back({"command", {all.run.argv}});
  doc.add(health_section(all, Extent::document));
  doc.add(studies_document(of));
  doc.add(lone_series_document(of, all));
  add(doc, sections_of(all, Extent::document, series_in_trace));
  out << to_markdown(doc);
}

void among_text(std::ostream& out, std::span<const AmongOthers> all, const TextStyle& style) {
  Document doc;
  for (const AmongOthers& one : all) {
    Section section = among_section(one);
    doc.title(section.name);
    doc.add(std::move(section));
  }
  out << to_text(doc, style);
}

}  // namespace npgpu
