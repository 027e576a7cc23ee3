// A document as GitHub reads it: for issues and wikis.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/document.hpp"
#include "netpipe/report/foreign.hpp"

namespace npgpu {

namespace {

std::string line_of(const Entry& entry) {
  std::string label = entry.label;
  label.erase(0, std::min(label.find_first_not_of(' '), label.size()));
  std::vector<std::string> items;
  for (const std::string& item : entry.items) items.push_back(markdown_text(item));
  return fmt::format("- {}{}\n", label.empty() ? "" : "**" + markdown_text(label) + "**: ", fmt::join(items, ", "));
}

class MarkdownWriter {
 public:
  std::string text;

  void operator()(const Document::Head& head) {
    text += fmt::format("## {}\n\n{}\n\n", markdown_text(head.text), markdown_text(head.run));
    for (const Entry& entry : head.entries) text += line_of(entry);
  }
  void operator()(const Document::Title& title) { part("## " + markdown_text(title.text)); }
  void operator()(const Document::Heading& heading) { part("### " + markdown_text(heading.text)); }
  void operator()(const Document::Verdict& verdict) { part("**" + markdown_text(verdict.text) + "**"); }
  void operator()(const Entry& entry) {
    text += line_of(entry);
    in_list_ = true;
  }
  void operator()(const Note& note) { part(markdown_text(note.text)); }
  void operator()(const Document::Marked& marked) {
    part("**" + markdown_text(marked.word) + "** " + markdown_text(marked.text));
  }
  void operator()(const Document::Rows& rows) {
    std::string table = rows.table.markdown();
    table.pop_back();
    part(table);
  }
  void operator()(const Document::Paragraph& paragraph) { part(markdown_text(paragraph.text)); }
  void operator()(const Document::Bullets& bullets) {
    for (const auto& item : bullets.items) (*this)(Entry{{}, {item.first}});
  }
  void operator()(const Document::Findings& findings) {
    for (const Document::Finding& finding : findings.items) {
      for (const auto& [word, what] : finding.said) (*this)(Document::Marked{word, {}, what});
      for (const std::string& why : finding.why) (*this)(Entry{{}, {why}});
    }
  }
  void operator()(const Document::Drawing&) {}  // of a page
  void operator()(const Document::Foot&) {}     // of a page
  void operator()(const Document::Lines& lines) { part(markdown_text(lines.text)); }
  void operator()(const Document::Gap&) {}  // each part has one
  void operator()(const Section& section) {
    std::string its = fmt::format("\n### {}\n\n", markdown_text(section.name));
    if (section.table) its += section.table->markdown() + '\n';
    for (const Entry& entry : section.entries) its += line_of(entry);
    for (const std::string& note : section.notes)
      its += (its.ends_with("\n\n") ? "" : "\n") + markdown_text(note) + '\n';
    text += its;
    in_list_ = !text.ends_with("\n\n");
  }

 private:
  // Behind a list only after an empty line.
  void part(const std::string& its) {
    text += (in_list_ ? "\n" : "") + its + "\n\n";
    in_list_ = false;
  }

  bool in_list_ = false;  // or behind a line that an empty one has to follow
};

}  // namespace

std::string to_markdown(const Document& document) {
  MarkdownWriter writer;
  for (const Document::Block& block : document.blocks) std::visit(writer, block);
  return std::move(writer.text);
}

}  // namespace npgpu
