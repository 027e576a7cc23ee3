#include "netpipe/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace npgpu::cli {

TextStyle terminal_style() {
  TextStyle style;
  const bool terminal = isatty(STDOUT_FILENO);
  const char* no_color = std::getenv("NO_COLOR");
  style.color = terminal && !(no_color && *no_color);
  winsize size{};
  if (const char* columns = std::getenv("COLUMNS"))
    style.width = std::atoi(columns);
  else if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    style.width = size.ws_col;
  style.width = std::clamp(style.width, 60, 200);
  return style;
}

}  // namespace npgpu::cli
