// The overview as a document.
#include "netpipe/report/among_section.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

namespace {

Document document_of(const Overview& all, const std::string& headline, std::vector<Section> sections) {
  Document doc;
  doc.add(Document::Head{headline, run_text(all), who_of(all), headline.starts_with("SIMULATED")});
  for (Section& section : sections) doc.add(std::move(section));
  return doc;
}

Document::Head& head_of(Document& doc) { return std::get<Document::Head>(doc.blocks.front()); }

}  // namespace

void report_overview(std::ostream& out, const Overview& all, const TextStyle& style) {
  const Extent extent = style.width < 120 ? Extent::screen : Extent::wide;
  out << to_text(document_of(all, headline_of(all), sections_of(all, extent, style.series_in_trace)), style);
}

bool report_glance(std::ostream& out, const Overview& all, const TextStyle& style) {
  std::vector<Section> sections = glance_of(all, style.series_in_trace);
  if (sections.empty()) return false;
  const std::string verdict = is_simulated(all) ? "" : ": " + upper_case(name(verdict_of(all.health)));
  Document doc = document_of(all, headline_of(all) + verdict, std::move(sections));
  head_of(doc).one_line_each = true;
  out << to_text(doc, style);
  return true;
}

void report_markdown(std::ostream& out, const Overview& all, std::size_t series_in_trace) {
  Document doc = document_of(all, headline_of(all), sections_of(all, Extent::document, series_in_trace));
  if (!all.run.argv.empty()) head_of(doc).entries.push_back({"command", {all.run.argv}});
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
