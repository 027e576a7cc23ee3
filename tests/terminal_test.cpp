#include "netpipe/cli/terminal.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "netpipe/cli/progress.hpp"

namespace terminal_test {

using namespace npgpu;
using namespace npgpu::cli;

namespace {

struct Variable {
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  const char* name_;
};

}  // namespace

TEST_CASE("COLUMNS counts only where it is a number") {
  const int no_terminal = open("/dev/null", O_WRONLY);
  for (const char* text : {"", "0", "-5", "wide"}) {
    const Variable columns("COLUMNS", text);
    CHECK(terminal_width(no_terminal, 80) == 80);
  }
  const Variable columns("COLUMNS", "132");
  CHECK(terminal_width(no_terminal, 80) == 132);
  close(no_terminal);
}

TEST_CASE("a dumb terminal, and what is no terminal, takes no escapes") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(isatty(terminal));
  {
    const Variable term("TERM", "xterm");
    CHECK(takes_escapes(terminal));
    CHECK_FALSE(takes_escapes(open("/dev/null", O_WRONLY)));
  }
  const Variable term("TERM", "dumb");
  CHECK_FALSE(takes_escapes(terminal));
  close(terminal);
}

TEST_CASE("a text is cut between characters, and one that fits stays whole") {
  CHECK(cut_to("5.1 us ±0.1 %", 100) == "5.1 us ±0.1 %");
  CHECK(cut_to("5.1 us ±", 8) == "5.1 us ±");
  CHECK(cut_to("5.1 us ±0.1 %", 8) == "5.1 us ±");
  CHECK(cut_to("5.1 us ±0.1 %", 7) == "5.1 us ");
  CHECK(cut_to("", 7) == "");
}

TEST_CASE("the bar's last character is whole, and none that fits is dropped") {
  const std::string whole = "[########........]  50 % left 0:05 | 1/2 a | 5.1 us ±";
  CHECK(bar_text(0.5, " left 0:05", "1/2 a | 5.1 us ±", 60) == whole);
  CHECK(bar_text(0.5, " left 0:05", "1/2 a | 5.1 us ±", 53) == whole);
  CHECK(bar_text(0.5, " left 0:05", "1/2 a | 5.1 us ±", 52) == whole.substr(0, 52));
}

}  // namespace terminal_test
