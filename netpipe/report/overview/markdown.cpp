// The overview as GitHub reads it: for issues and wikis.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

namespace {

std::string items_text(const Entry& entry) {
  std::vector<std::string> items;
  for (const std::string& item : entry.items) items.push_back(markdown_text(item));
  return fmt::format("{}", fmt::join(items, ", "));
}

}  // namespace

std::string section_markdown(const Section& section) {
  std::string text = fmt::format("\n### {}\n\n", markdown_text(section.name));
  if (section.table) text += section.table->markdown() + '\n';
  for (const Entry& entry : section.entries) {
    std::string label = entry.label;
    label.erase(0, std::min(label.find_first_not_of(' '), label.size()));
    text += "- " + (label.empty() ? "" : "**" + markdown_text(label) + "**: ") + items_text(entry) + '\n';
  }
  for (const std::string& note : section.notes)
    text += (text.ends_with("\n\n") ? "" : "\n") + markdown_text(note) + '\n';
  return text;
}

void report_markdown(std::ostream& out, const Overview& all, std::size_t series_in_trace) {
  std::string text = fmt::format("## {}\n\n{}\n\n", markdown_text(headline_of(all)), markdown_text(run_text(all)));
  for (const Entry& entry : who_of(all))
    text += "- **" + markdown_text(entry.label) + "**: " + items_text(entry) + '\n';
  if (!all.run.argv.empty()) text += "- **command**: " + markdown_text(all.run.argv) + '\n';
  for (const Section& section : sections_of(all, Extent::document, series_in_trace)) text += section_markdown(section);
  out << text;
}

}  // namespace npgpu
