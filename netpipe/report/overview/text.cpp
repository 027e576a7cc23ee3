// The overview on a screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/report/among_section.hpp"
#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

namespace {

constexpr std::size_t name_room = 9, label_room = 9;

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

// "MEMORY   GB/s     read 4606, ...": lines go on behind the label.
void write_entry(Page& page, const std::string& name, const Entry& entry) {
  const bool labelled = !entry.label.empty();
  std::string head = one_line(name), label = one_line(entry.label);
  head.resize(std::max(head.size() + 1, name_room), ' ');
  if (labelled) label.resize(std::max(label.size() + 1, label_room), ' ');
  const std::size_t behind = name_room + (labelled ? label_room : 0);
  const std::size_t excess = head.size() + label.size() - behind, room = page.width - behind;
  // A long label takes the first line's room.
  std::vector<std::string> lines = lines_of(entry.items, room - std::min(excess, room / 2));
  cut_lines(lines, entry.screen_lines, room);
  std::string text = label;
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i ? '\n' + std::string(head.size() + label.size(), ' ') : "") + lines[i];
  page.text += (name.empty() ? head : page.ink.bold(head)) + (entry.alarm ? page.ink.alarm(text) : text) + '\n';
}

void write_table(Page& page, Table& table) {
  const auto lines = table.lines(page.width + 2);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = lines[i].substr(std::min<std::size_t>(2, lines[i].size()));
    page.text += i == 0 ? page.ink.bold(line) : line;
  }
  page.note_left_out(table);
}

void write_section(Page& page, Section& section) {
  // Tables stand apart, and so does what comes first.
  const bool apart = section.table || section.name == "HEALTH";
  const auto leave_line = [&] {
    if (!page.text.ends_with("\n\n")) page.text += '\n';
  };
  if (section.is_joined && page.text.ends_with("\n\n")) page.text.pop_back();
  else if (apart) leave_line();
  if (section.table) write_table(page, *section.table);
  std::string name = section.table ? "" : section.name;
  for (const Entry& entry : section.entries) {
    write_entry(page, name, entry);
    name.clear();
  }
  for (const std::string& note : section.notes) page.note(note);
  if (apart) leave_line();
}

}  // namespace

namespace {

// Of items with commas between them.
void keep_what_fits(std::vector<std::string>& items, std::size_t room) {
  std::size_t used = 0, fit = 0;
  while (fit < items.size() && used + display_width(items[fit]) <= room) used += display_width(items[fit++]) + 2;
  items.resize(std::max<std::size_t>(fit, 1));
}

void write(std::ostream& out, const std::string& head, const Overview& all, std::vector<Section> sections,
           const TextStyle& style, bool one_line_each) {
  Page page(style);
  const std::string run = one_line(run_text(all));
  const bool alarm = head.starts_with("SIMULATED");
  const std::size_t used = display_width(head) + display_width(run);
  page.text += alarm ? page.ink.alarm(wrapped(head, page.width, 2)) : page.ink.bold(wrapped(head, page.width, 2));
  page.text += used + 2 <= page.width ? std::string(page.width - used, ' ') + run + '\n'
                                      : "\n  " + wrapped(run, page.width, 2, 2) + '\n';
  for (Entry& entry : who_of(all)) {
    std::string line = "  " + one_line(entry.label);
    line.resize(std::max<std::size_t>(line.size() + 1, 8), ' ');
    if (one_line_each) keep_what_fits(entry.items, page.width - line.size());
    page.text += line + wrapped(fmt::format("{}", fmt::join(entry.items, ", ")), page.width, 8, 8) + '\n';
  }
  for (Section& section : sections) write_section(page, section);
  out << page.text;
}

}  // namespace

void report_overview(std::ostream& out, const Overview& all, const TextStyle& style) {
  const Extent extent = style.width < 120 ? Extent::screen : Extent::wide;
  write(out, one_line(headline_of(all)), all, sections_of(all, extent, style.series_in_trace), style, false);
}

bool report_glance(std::ostream& out, const Overview& all, const TextStyle& style) {
  std::vector<Section> sections = glance_of(all, style.series_in_trace);
  if (sections.empty()) return false;
  const std::string verdict = is_simulated(all) ? "" : ": " + upper_case(name(verdict_of(all.health)));
  write(out, one_line(headline_of(all) + verdict), all, std::move(sections), style, true);
  return true;
}

void among_text(std::ostream& out, std::span<const AmongOthers> all, const TextStyle& style) {
  Page page(style);
  for (const AmongOthers& one : all) {
    Section section = among_section(one);
    page.title(section.name);
    write_section(page, section);
  }
  out << page.text;
}

}  // namespace npgpu
