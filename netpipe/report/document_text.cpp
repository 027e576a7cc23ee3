// A document on a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/document.hpp"

namespace npgpu {

namespace {

constexpr std::size_t name_room = 9, label_room = 9;

std::string joined_items(const Entry& entry) { return fmt::format("{}", fmt::join(entry.items, ", ")); }

// The items on lines of their own, `first` columns already used of the first one. Items stay whole where they fit a
// line; one that is a sentence wraps by itself.
std::vector<std::string> lines_of(const std::vector<std::string>& items, std::size_t room) {
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = one_line(items[i]) + (i + 1 < items.size() ? "," : "");
    const std::size_t used = display_width(lines.back());
    if (used && used + 1 + display_width(item) > room) lines.emplace_back();
    std::string& line = lines.back();
    if (!line.empty()) line += ' ';
    std::string rest = wrapped(item, room, 0, display_width(line));
    for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
      lines.back() += rest.substr(0, end);
      lines.emplace_back();
    }
    lines.back() += rest;
  }
  return lines;
}

// The first lines, the last of them with a sign that there are more.
void cut_lines(std::vector<std::string>& lines, std::size_t most, std::size_t room) {
  if (!most || lines.size() <= most) return;
  lines.resize(most);
  constexpr std::string_view more = " ...";
  std::string& last = lines.back();
  while (display_width(last) + more.size() > room) {
    const std::size_t space = last.rfind(' ');
    if (space == std::string::npos) break;
    last.resize(space);
  }
  last += more;
}

// Items have commas between them.
void keep_what_fits(std::vector<std::string>& items, std::size_t room) {
  std::size_t used = 0, fit = 0;
  while (fit < items.size() && used + display_width(items[fit]) <= room) used += display_width(items[fit++]) + 2;
  items.resize(std::max<std::size_t>(fit, 1));
}

class TextWriter {
 public:
  explicit TextWriter(const TextStyle& style)
      : ink_(style.color), width_(text_width(style)), table_width_(table_width(style)) {}
  std::string text;

  void operator()(const Document::Head& head) {
    const std::string run = one_line(head.run), what = one_line(head.text), line = wrapped(what, width_, 2);
    const std::size_t used = display_width(what) + display_width(run);
    text += head.alarm ? ink_.alarm(line) : ink_.bold(line);
    text +=
        used + 2 <= width_ ? std::string(width_ - used, ' ') + run + '\n' : "\n  " + wrapped(run, width_, 2, 2) + '\n';
    for (Entry entry : head.entries) {
      std::string label = "  " + one_line(entry.label);
      label.resize(std::max<std::size_t>(label.size() + 1, 8), ' ');
      if (head.one_line_each) keep_what_fits(entry.items, width_ - label.size());
      text += label + wrapped(joined_items(entry), width_, 8, 8) + '\n';
    }
  }
  void operator()(const Document::Title& title) {
    const std::string line = wrapped((title.simulated ? "SIMULATED " : "") + title.text, width_, 4);
    text += (title.simulated ? ink_.alarm(line) : ink_.bold(line)) + '\n';
  }
  void operator()(const Document::Heading& heading) {
    text += '\n';
    (*this)(Document::Title{heading.text});
  }
  void operator()(const Document::Verdict& verdict) {
    const std::string line = wrapped(verdict.text, width_, 2);
    text += '\n' + (verdict.health == Health::fail ? ink_.alarm(line) : ink_.bold(line)) + '\n';
  }
  void operator()(const Entry& entry) {
    const std::string line = labelled(entry.label, joined_items(entry), width_);
    text += entry.alarm ? ink_.alarm(line) : line;
  }
  void operator()(const Note& note) {
    const std::string line =
        std::string(note.indent, ' ') + wrapped(note.text, width_, note.indent + 2, note.indent) + '\n';
    text += note.alarm ? ink_.alarm(line) : line;
  }
  void operator()(const Document::Marked& marked) {
    const std::size_t column = marked.indent + display_width(marked.word) + 2;
    text += std::string(marked.indent, ' ') + painted(marked.word, marked.tone);
    if (!marked.text.empty()) text += "  " + wrapped(marked.text, width_, marked.hanging, column);
    text += '\n';
  }
  void operator()(const Document::Rows& rows) {
    const auto lines = rows.table.lines(table_width_);
    text += ink_.dim(lines.front());
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      text += rows.table.is_alarm(i) ? ink_.alarm(lines[i + 1]) : lines[i + 1];
      if (i < rows.below.size())
        for (const Note& note : rows.below[i]) (*this)(note);
    }
  }
  void operator()(const Document::Paragraph& paragraph) { (*this)(Note{paragraph.text}); }
  void operator()(const Document::Bullets& bullets) {
    for (const auto& [what, alarm] : bullets.items) (*this)(Note{what, alarm});
  }
  void operator()(const Document::Findings& findings) {
    for (const Document::Finding& finding : findings.items) {
      for (const auto& [word, what] : finding.said) (*this)(Document::Marked{word, Document::Tone::bold, what, 2, 8});
      for (const std::string& why : finding.why) (*this)(Note{why, false, 6});
    }
  }
  void operator()(const Document::Drawing&) {}  // of a page
  void operator()(const Document::Foot&) {}     // of a page
  void operator()(const Document::Lines& lines) { text += printable(lines.text); }
  void operator()(const Document::Gap&) { text += '\n'; }
  void operator()(const Section& section) {
    // Tables stand apart, and so does what comes first.
    const bool apart = section.table || section.name == "HEALTH";
    if (section.is_joined && text.ends_with("\n\n")) text.pop_back();
    else if (apart) leave_line();
    if (section.table) write_table(*section.table);
    std::string name = section.table ? "" : section.name;
    for (const Entry& entry : section.entries) {
      write_entry(name, entry);
      name.clear();
    }
    for (const std::string& note : section.notes) (*this)(Note{note});
    if (apart) leave_line();
  }

 private:
  std::string painted(const std::string& word, Document::Tone tone) const {
    if (tone == Document::Tone::dim) return ink_.dim(word);
    return tone == Document::Tone::alarm ? ink_.alarm(word) : ink_.bold(word);
  }
  void leave_line() {
    if (!text.ends_with("\n\n")) text += '\n';
  }
  void write_table(const Table& table) {
    const auto lines = table.lines(table_width_ + 2);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string line = lines[i].substr(std::min<std::size_t>(2, lines[i].size()));
      text += i == 0 ? ink_.bold(line) : line;
    }
  }
  // "MEMORY   GB/s     read 4606, ...": lines go on behind the label.
  void write_entry(const std::string& name, const Entry& entry) {
    const bool labelled = !entry.label.empty();
    std::string head = one_line(name), label = one_line(entry.label);
    head.resize(std::max(head.size() + 1, name_room), ' ');
    if (labelled) label.resize(std::max(label.size() + 1, label_room), ' ');
    const std::size_t behind = name_room + (labelled ? label_room : 0);
    const std::size_t excess = head.size() + label.size() - behind, room = width_ - behind;
    // A long label takes the first line's room.
    std::vector<std::string> lines = lines_of(entry.items, room - std::min(excess, room / 2));
    cut_lines(lines, entry.screen_lines, room);
    const std::string said =
        label + fmt::format("{}", fmt::join(lines, '\n' + std::string(head.size() + label.size(), ' ')));
    text += (name.empty() ? head : ink_.bold(head)) + (entry.alarm ? ink_.alarm(said) : said) + '\n';
  }

  const Ink ink_;
  const std::size_t width_, table_width_;
};

}  // namespace

std::string to_text(const Document& document, const TextStyle& style) {
  TextWriter writer(style);
  for (const Document::Block& block : document.blocks) std::visit(writer, block);
  return std::move(writer.text);
}

}  // namespace npgpu
