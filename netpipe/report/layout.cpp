#include "netpipe/report/layout.hpp"

#include <fmt/format.h>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/html/html.hpp"

namespace npgpu {

namespace {

constexpr std::size_t gap = 2;

// Combining marks, zero-width characters and variation selectors.
bool takes_no_room(std::uint32_t c) {
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff;
}

bool is_wide(std::uint32_t c) {
  return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
         (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
}

std::string spaces(std::size_t n) { return std::string(n, ' '); }

// Pads numbers behind their last digit so that all points are in one column.
void line_up_points(std::vector<std::string>& cells) {
  // From the point on; of a whole number, what follows it: "324*".
  const auto behind = [](const std::string& cell) {
    const std::size_t point = cell.find('.');
    if (point != std::string::npos) return cell.size() - point;
    const std::size_t last = cell.find_last_of("0123456789");
    return last == std::string::npos ? 0 : cell.size() - last - 1;
  };
  if (cells.empty()) return;
  const std::size_t most = behind(*std::ranges::max_element(cells, {}, behind));
  for (std::string& cell : cells) cell += spaces(most - behind(cell));
}

// Marks without a header take no room where no row has one.
bool is_shown(const Column& column) {
  const auto is_empty = [](const std::string& cell) { return cell.empty(); };
  return column.there && !(column.header.empty() && std::ranges::all_of(column.cells, is_empty));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    i += c.bytes;
    width += takes_no_room(c.code) ? 0 : is_wide(c.code) ? 2 : 1;
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::size_t end = 0;
  for (std::size_t width = 1; end < text.size();) {
    const Character c = character_at(text, end);
    width += takes_no_room(c.code) ? 0 : is_wide(c.code) ? 2 : 1;
    if (width > columns) break;
    end += c.bytes;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view raw, std::size_t width, std::size_t hanging, std::size_t column) {
  const std::string clean = one_line(raw);
  const std::string_view text = clean;
  std::string out;
  bool line_is_empty = true;
  const auto new_line = [&] {
    out += '\n' + spaces(hanging);
    column = hanging;
    line_is_empty = true;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    std::size_t end = std::min(text.find(' ', i), text.size());
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(i, end - i);
    const std::size_t room = display_width(word);
    if (!line_is_empty && column + 1 + room > width) {
      new_line();
    } else if (!line_is_empty) {
      out += ' ';
      ++column;
    }
    out += word;
    column += room;
    line_is_empty = false;
    i = end;
  }
  return out;
}

std::string labelled(std::string_view name, std::string_view text, std::size_t width) {
  constexpr std::size_t behind = 12;
  std::string out = spaces(2) + one_line(name);
  const std::size_t used = display_width(out);
  out += spaces(used < behind ? behind - used : 1);
  return out + wrapped(text, width, behind, display_width(out)) + '\n';
}

std::string Ink::paint(std::string_view code, std::string_view text) const {
  if (!on_ || text.empty()) return printable(text);
  return "\x1b[" + std::string(code) + 'm' + printable(text) + "\x1b[0m";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.header = one_line(column.header);
}

void Table::row(std::vector<std::string> cells, std::optional<Health> judged) {
  judged_.push_back(judged);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].cells.push_back(i < cells.size() ? one_line(cells[i]) : "");
}

std::vector<std::string> Table::lines(std::size_t width) const {
  std::vector<Column> shown = columns_;
  std::erase_if(shown, [](const Column& c) { return !is_shown(c); });
  const std::vector<Column> whole = shown;
  for (Column& c : shown) {
    if (c.align == Align::point) line_up_points(c.cells);
    c.cells.insert(c.cells.begin(), c.header);
  }
  const auto room = [](const Column& c) {
    return display_width(*std::ranges::max_element(c.cells, {}, display_width));
  };
  std::vector<char> is_below(shown.size(), false);
  const auto total = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) sum += is_below[i] ? 0 : gap + room(shown[i]);
    return sum;
  };
  while (total() > width) {
    std::size_t least = 0;  // the first column stays
    for (std::size_t i = 1; i < shown.size(); ++i)
      if (!is_below[i] && (!least || shown[i].rank >= shown[least].rank)) least = i;
    if (!least) break;
    is_below[least] = true;
  }

  std::vector<std::string> lines(shown.empty() ? 0 : shown.front().cells.size());
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const Column& c = shown[k];
    const std::size_t wide = room(c);
    for (std::size_t i = 0; i < lines.size() && !is_below[k]; ++i) {
      const std::string fill = spaces(wide - display_width(c.cells[i]));
      lines[i] += spaces(gap) + (c.align == Align::left ? c.cells[i] + fill : fill + c.cells[i]);
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].erase(lines[i].find_last_not_of(' ') + 1);
    if (display_width(lines[i]) > width) lines[i] = spaces(gap) + wrapped(lines[i], width, 2 * gap, gap);
    lines[i] += '\n';
    std::string folded;
    for (std::size_t k = 0; i > 0 && k < whole.size(); ++k) {
      const std::string& cell = whole[k].cells[i - 1];
      if (!is_below[k] || cell.empty() || cell == "-") continue;
      folded += (folded.empty() ? "" : ", ") + whole[k].header + (whole[k].header.empty() ? "" : " ") + cell;
    }
    if (!folded.empty()) lines[i] += spaces(3 * gap) + wrapped(folded, width, 4 * gap, 3 * gap) + '\n';
  }
  return lines;
}

std::string Table::markdown() const {
  std::string head = "|", line = "|";
  std::size_t rows = 0;
  for (const Column& c : columns_) {
    if (!is_shown(c)) continue;
    head += ' ' + markdown_text(c.header) + " |";
    line += c.align == Align::left ? " --- |" : " ---: |";
    rows = c.cells.size();
  }
  std::string out = head + '\n' + line + '\n';
  for (std::size_t i = 0; i < rows; ++i) {
    out += '|';
    for (const Column& c : columns_)
      if (is_shown(c)) out += ' ' + markdown_text(c.cells[i]) + " |";
    out += '\n';
  }
  return out;
}

std::string Table::html(std::string_view caption) const {
  std::string out = fmt::format("<table>\n<caption>{}</caption>\n<thead><tr>", html_text(caption)), body;
  std::size_t rows = 0;
  const auto open = [](const char* element, const char* scope, std::string_view its_class) {
    return fmt::format("<{}{}{}>", element, scope, its_class.empty() ? "" : fmt::format(" class=\"{}\"", its_class));
  };
  // A column of dashes says nothing.
  const auto is_on_page = [](const Column& c) {
    return is_shown(c) &&
           (c.cells.empty() || std::ranges::any_of(c.cells, [](const auto& cell) { return cell != "-"; }));
  };
  const auto class_of = [](const Column& c) { return c.is_prose ? "wrap" : c.align == Align::left ? "" : "n"; };
  for (const Column& c : columns_) {
    if (!is_on_page(c)) continue;
    out += open("th", " scope=\"col\"", c.is_prose ? "" : class_of(c)) +
           (c.header.empty() ? "marks" : html_text(c.header)) + "</th>";
    rows = c.cells.size();
  }
  for (std::size_t i = 0; i < rows; ++i) {
    body += "<tr>";
    bool first = true;
    for (const Column& c : columns_) {
      if (!is_on_page(c)) continue;
      const char* const element = first ? "th" : "td";
      body += open(element, first ? " scope=\"row\"" : "",
                   first && judged_[i] ? html::class_of(*judged_[i]) : class_of(c)) +
              html_text(c.cells[i]) + "</" + element + '>';
      first = false;
    }
    body += "</tr>\n";
  }
  return out + "</tr></thead>\n<tbody>\n" + body + "</tbody>\n</table>\n";
}

std::size_t text_width(const TextStyle& style) { return static_cast<std::size_t>(std::max(40, style.width)); }

std::size_t table_width(const TextStyle& style) {
  constexpr std::size_t any = 1 << 20;
  return style.whole_tables ? any : text_width(style);
}

}  // namespace npgpu
