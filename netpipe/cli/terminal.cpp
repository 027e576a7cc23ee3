#include "netpipe/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace npgpu::cli {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

}  // namespace

int terminal_width(int descriptor, int otherwise) {
  const char* columns = std::getenv("COLUMNS");
  int width = 0;
  if (columns && std::from_chars(columns, columns + std::strlen(columns), width).ec == std::errc{} && width > 0)
    return width;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

bool takes_escapes(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) && terminal && *terminal && std::strcmp(terminal, "dumb") != 0;
}

TextStyle terminal_style() {
  TextStyle style;
  const char* no_color = std::getenv("NO_COLOR");
  style.color = takes_escapes(STDOUT_FILENO) && !(no_color && *no_color);
  style.width = std::clamp(terminal_width(STDOUT_FILENO, style.width), 60, 200);
  return style;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (starts_character(text[end]) && seen++ == columns) break;
  return std::string(text.substr(0, end));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t column = 0;
  const auto new_line = [&] {
    lines += '\n' + std::string(indent, ' ');
    column = indent;
  };
  bool fresh = true;  // nothing but the indent is on this line yet
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t length = characters(word);
    if (!fresh && column + 1 + length > width) {
      new_line();
      fresh = true;
    }
    if (!fresh) lines += ' ';
    column += length + (fresh ? 0 : 1);
    lines += word;
    fresh = false;
    if (end < text.size() && text[end] == '\n') {
      new_line();
      fresh = true;
    }
    begin = end + 1;
  }
  return lines;
}

}  // namespace npgpu::cli
