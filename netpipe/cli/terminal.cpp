#include "netpipe/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "npgpu/listed_error.hpp"

namespace npgpu::cli {

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

void complain(std::string_view what) { std::cerr << "npgpu: " + one_line(what) + '\n' << std::flush; }

void complain(const std::exception& e) {
  complain(e.what());
  if (const auto* const error = dynamic_cast<const ListedError*>(&e))
    for (const std::string& line : error->below()) std::cerr << "  " + one_line(line) + '\n' << std::flush;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (starts_character(text[end]) && seen++ == columns) break;
  return std::string(text.substr(0, end));
}

}  // namespace npgpu::cli
