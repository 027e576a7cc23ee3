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

// Of items with commas between them.
void keep_what_fits(std::vector<std::string>& items, std::size_t room) {
  std::size_t used = 0, fit = 0;
  while (fit < items.size() && used + display_width(items[fit]) <= room) used += display_width(items[fit++]) + 2;
  items.resize(std::max<std::size_t>(fit, 1));
}

class TextWriter {
 public:
  explicit TextWriter(const TextStyle& style) : page_(style) {}
  std::string&& text() { return std::move(page_.text); }

  void operator()(const Document::Head& head) {
    const std::string run = one_line(head.run), what = one_line(head.text), line = wrapped(what, page_.width, 2);
    const std::size_t used = display_width(what) + display_width(run);
    page_.text += head.alarm ? page_.ink.alarm(line) : page_.ink.bold(line);
    page_.text += used + 2 <= page_.width ? std::string(page_.width - used, ' ') + run + '\n'
                                          : "\n  " + wrapped(run, page_.width, 2, 2) + '\n';
    for (Entry entry : head.entries) {
      std::string label = "  " + one_line(entry.label);
      label.resize(std::max<std::size_t>(label.size() + 1, 8), ' ');
      if (head.one_line_each) keep_what_fits(entry.items, page_.width - label.size());
      page_.text += label + wrapped(joined_items(entry), page_.width, 8, 8) + '\n';
    }
  }
  void operator()(const Document::Title& title) { page_.title(title.text, title.simulated); }
  void operator()(const Document::Heading& heading) {
    page_.text += '\n';
    page_.title(heading.text);
  }
  void operator()(const Document::Verdict& verdict) {
    const std::string line = wrapped(verdict.text, page_.width, 2);
    page_.text += '\n' + (verdict.health == Health::fail ? page_.ink.alarm(line) : page_.ink.bold(line)) + '\n';
  }
  void operator()(const Entry& entry) { page_.labelled(entry.label, joined_items(entry), entry.alarm); }
  void operator()(const Note& note) { page_.note(note.text, note.alarm, note.indent); }
  void operator()(const Document::Marked& marked) {
    const std::size_t column = marked.indent + display_width(marked.word) + 2;
    page_.text += std::string(marked.indent, ' ') + painted(marked.word, marked.tone);
    if (!marked.text.empty()) page_.text += "  " + wrapped(marked.text, page_.width, marked.hanging, column);
    page_.text += '\n';
  }
  void operator()(const Document::Rows& rows) {
    Table table = rows.table;
    page_.rows(table, [&](std::size_t i, const std::string& line) {
      page_.text += table.is_alarm(i) ? page_.ink.alarm(line) : line;
      if (i < rows.below.size())
        for (const Note& note : rows.below[i]) (*this)(note);
    });
    last_ = std::move(table);
  }
  void operator()(const Document::LeftOut&) {
    if (last_) page_.note_left_out(*last_);
  }
  void operator()(const Document::Paragraph& paragraph) { page_.note(paragraph.text); }
  void operator()(const Document::Bullets& bullets) {
    for (const auto& [what, alarm] : bullets.items) page_.note(what, alarm);
  }
  void operator()(const Document::Findings& findings) {
    for (const Document::Finding& finding : findings.items) {
      for (const auto& [word, what] : finding.said) (*this)(Document::Marked{word, Document::Tone::bold, what, 2, 8});
      for (const std::string& why : finding.why) page_.note(why, false, 6);
    }
  }
  void operator()(const Document::Drawing&) {}  // of a page
  void operator()(const Document::Foot&) {}     // of a page
  void operator()(const Document::Lines& lines) { page_.text += printable(lines.text); }
  void operator()(const Document::Gap&) { page_.text += '\n'; }
  void operator()(const Section& section) {
    // Tables stand apart, and so does what comes first.
    const bool apart = section.table || section.name == "HEALTH";
    if (section.is_joined && page_.text.ends_with("\n\n")) page_.text.pop_back();
    else if (apart) leave_line();
    if (section.table) write_table(*section.table);
    std::string name = section.table ? "" : section.name;
    for (const Entry& entry : section.entries) {
      write_entry(name, entry);
      name.clear();
    }
    for (const std::string& note : section.notes) page_.note(note);
    if (apart) leave_line();
  }

 private:
  std::string painted(const std::string& word, Document::Tone tone) const {
    if (tone == Document::Tone::dim) return page_.ink.dim(word);
    return tone == Document::Tone::alarm ? page_.ink.alarm(word) : page_.ink.bold(word);
  }
  void leave_line() {
    if (!page_.text.ends_with("\n\n")) page_.text += '\n';
  }
  void write_table(Table table) {
    const auto lines = table.lines(page_.width + 2);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string line = lines[i].substr(std::min<std::size_t>(2, lines[i].size()));
      page_.text += i == 0 ? page_.ink.bold(line) : line;
    }
    page_.note_left_out(table);
  }
  // "MEMORY   GB/s     read 4606, ...": lines go on behind the label.
  void write_entry(const std::string& name, const Entry& entry) {
    const bool labelled = !entry.label.empty();
    std::string head = one_line(name), label = one_line(entry.label);
    head.resize(std::max(head.size() + 1, name_room), ' ');
    if (labelled) label.resize(std::max(label.size() + 1, label_room), ' ');
    const std::size_t behind = name_room + (labelled ? label_room : 0);
    const std::size_t excess = head.size() + label.size() - behind, room = page_.width - behind;
    // A long label takes the first line's room.
    std::vector<std::string> lines = lines_of(entry.items, room - std::min(excess, room / 2));
    cut_lines(lines, entry.screen_lines, room);
    const std::string text =
        label + fmt::format("{}", fmt::join(lines, '\n' + std::string(head.size() + label.size(), ' ')));
    page_.text += (name.empty() ? head : page_.ink.bold(head)) + (entry.alarm ? page_.ink.alarm(text) : text) + '\n';
  }

  Page page_;
  std::optional<Table> last_;
};

}  // namespace

std::string to_text(const Document& document, const TextStyle& style) {
  TextWriter writer(style);
  for (const Document::Block& block : document.blocks) std::visit(writer, block);
  return writer.text();
}

}  // namespace npgpu
