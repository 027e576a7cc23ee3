#include "netpipe/report/sheet.hpp"

#include <fmt/format.h>

#include "netpipe/report/foreign.hpp"

namespace npgpu {

void TextSheet::heading(std::string_view what) {
  page.text += '\n';
  page.title(what);
}
void TextSheet::labelled(std::string_view name, std::string_view what, bool alarm) { page.labelled(name, what, alarm); }
void TextSheet::verdict(std::string_view what, bool alarm) {
  const std::string line = wrapped(what, page.width, 2);
  page.text += '\n' + (alarm ? page.ink.alarm(line) : page.ink.bold(line)) + '\n';
}
void TextSheet::note(std::string_view what) { page.note(what); }
void TextSheet::table(Table& table, const IsAlarm& is_alarm) {
  page.rows(table, [&](std::size_t i, const std::string& line) {
    page.text += is_alarm && is_alarm(i) ? page.ink.alarm(line) : line;
  });
  page.note_left_out(table);
}

void MarkdownSheet::leave_list() {
  if (in_list_) text += '\n';
  in_list_ = false;
}
void MarkdownSheet::heading(std::string_view what) {
  leave_list();
  text += fmt::format("### {}\n\n", markdown_text(what));
}
void MarkdownSheet::labelled(std::string_view name, std::string_view what, bool) {
  text += fmt::format("- **{}**: {}\n", markdown_text(name), markdown_text(what));
  in_list_ = true;
}
void MarkdownSheet::verdict(std::string_view what, bool) {
  leave_list();
  text += fmt::format("**{}**\n\n", markdown_text(what));
}
void MarkdownSheet::note(std::string_view what) {
  leave_list();
  text += markdown_text(what) + "\n\n";
}
void MarkdownSheet::table(Table& table, const IsAlarm&) {
  leave_list();
  text += table.markdown() + '\n';
}

}  // namespace npgpu
