#include "netpipe/report/layout.hpp"

#include <algorithm>
#include <cstdint>

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
  const auto behind = [](const std::string& cell) {
    const std::size_t point = cell.find('.');
    return point == std::string::npos ? 0 : cell.size() - point;
  };
  std::size_t most = 0;
  for (const std::string& cell : cells) most = std::max(most, behind(cell));
  for (std::string& cell : cells) cell += spaces(most - behind(cell));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    std::uint32_t c = lead < 0x80 ? lead : lead & (0x7fU >> length);
    std::size_t taken = 1;
    for (; taken < length && i + taken < text.size(); ++taken) {
      const auto next = static_cast<unsigned char>(text[i + taken]);
      if ((next & 0xc0) != 0x80) break;
      c = c << 6 | (next & 0x3f);
    }
    i += taken;
    width += takes_no_room(c) ? 0 : is_wide(c) ? 2 : 1;
  }
  return width;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t hanging, std::size_t column) {
  std::string out;
  bool line_is_empty = true;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\n' || text[i] == ' ') {
      if (text[i] == '\n') {
        out += '\n' + spaces(hanging);
        column = hanging;
        line_is_empty = true;
      }
      ++i;
      continue;
    }
    std::size_t end = std::min(text.find_first_of(" \n", i), text.size());
    if (text.substr(end).starts_with(" %")) end = std::min(text.find_first_of(" \n", end + 1), text.size());
    const std::string_view word = text.substr(i, end - i);
    const std::size_t room = display_width(word);
    if (!line_is_empty && column + 1 + room > width) {
      out += '\n' + spaces(hanging);
      column = hanging;
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
  std::string out = spaces(2) + std::string(name);
  const std::size_t used = display_width(out);
  out += spaces(used < behind ? behind - used : 1);
  return out + wrapped(text, width, behind, display_width(out)) + '\n';
}

std::string Ink::paint(std::string_view code, std::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + 'm' + std::string(text) + "\x1b[0m";
}

void Table::column(std::string header, Align align, int rank) {
  columns_.push_back({std::move(header), align, rank, {}});
}

void Table::row(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].cells.push_back(i < cells.size() ? cells[i] : "");
}

std::vector<std::string> Table::lines(std::size_t width) {
  std::vector<Column> shown = columns_;
  left_out_.clear();
  for (Column& c : shown) {
    if (c.align == Align::point) line_up_points(c.cells);
    c.cells.insert(c.cells.begin(), c.header);
  }
  const auto room = [](const Column& c) {
    std::size_t most = 0;
    for (const std::string& cell : c.cells) most = std::max(most, display_width(cell));
    return most;
  };
  const auto total = [&] {
    std::size_t sum = 0;
    for (const Column& c : shown) sum += gap + room(c);
    return sum;
  };
  while (total() > width) {
    const auto least =
        std::max_element(shown.begin(), shown.end(), [](const Column& a, const Column& b) { return a.rank < b.rank; });
    if (least == shown.end() || least->rank == 0) break;
    left_out_.push_back(least->header);
    shown.erase(least);
  }

  std::vector<std::string> lines(shown.empty() ? 0 : shown.front().cells.size());
  for (const Column& c : shown) {
    const std::size_t wide = room(c);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string fill = spaces(wide - display_width(c.cells[i]));
      lines[i] += spaces(gap) + (c.align == Align::left ? c.cells[i] + fill : fill + c.cells[i]);
    }
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    line += '\n';
  }
  return lines;
}

}  // namespace npgpu
