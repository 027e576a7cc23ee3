// The overview as GitHub reads it: for issues and wikis.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/matrix_sections.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

namespace {

// Text from a trace stays text: no markup, no HTML, no line of its own.
std::string plain(std::string_view raw) {
  std::string out;
  for (const char c : printable(raw)) {
    if (c == '\n') out += ' ';
    else if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\`*_[]|#").find(c) != std::string_view::npos) (out += '\\') += c;
    else out += c;
  }
  return out;
}

std::string items_text(const Entry& entry) {
  std::vector<std::string> items;
  for (const std::string& item : entry.items) items.push_back(plain(item));
  return fmt::format("{}", fmt::join(items, ", "));
}

}  // namespace

std::string section_markdown(const Section& section) {
  std::string text = fmt::format("\n### {}\n\n", plain(section.name));
  if (section.table) text += section.table->markdown() + '\n';
  for (const Entry& entry : section.entries) {
    std::string label = entry.label;
    label.erase(0, std::min(label.find_first_not_of(' '), label.size()));
    text += "- " + (label.empty() ? "" : "**" + plain(label) + "**: ") + items_text(entry) + '\n';
  }
  for (const std::string& note : section.notes) text += (text.ends_with("\n\n") ? "" : "\n") + plain(note) + '\n';
  return text;
}

void report_markdown(std::ostream& out, const Overview& all, std::size_t series_in_trace) {
  std::string text = fmt::format("## {}\n\n{}\n\n", plain(headline_of(all)), plain(run_text(all)));
  for (const Entry& entry : who_of(all)) text += "- **" + entry.label + "**: " + items_text(entry) + '\n';
  if (!all.run.argv.empty()) text += "- **command**: " + plain(all.run.argv) + '\n';
  for (const Section& section : sections_of(all, Extent::document, series_in_trace)) text += section_markdown(section);
  out << text;
}

}  // namespace npgpu
