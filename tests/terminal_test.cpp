// What a command does beside measuring: the terminal, streams it plans, signals, folders.
#include "netpipe/cli/terminal.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/scratch.hpp"

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
  CHECK(cut_to("5.1 us ±0.1 %", 9) == "5.1 us ±…");
  CHECK(cut_to("5.1 us ±0.1 %", 8) == "5.1 us …");
  CHECK(cut_to("", 7) == "");
}

TEST_CASE("the bar's last character is whole, and what is cut ends with …") {
  const std::string whole = "[########........]  50 % left 0:05 | 1/2 a | 5.1 us ±";
  CHECK(bar_text(0.5, " left 0:05", "1/2 a | 5.1 us ±", 60) == whole);
  CHECK(bar_text(0.5, " left 0:05", "1/2 a | 5.1 us ±", 53) == whole);
  CHECK(bar_text(0.5, " left 0:05", "1/2 a | 5.1 us ±", 52) == whole.substr(0, 51) + "…");
}

namespace {

// What arrives of texts that are written one by one.
std::string passed(std::initializer_list<std::string_view> texts, bool flush = false) {
  std::ostringstream out;
  std::ostream stream(out.rdbuf());
  {
    const PlainStream plain(stream);
    for (const std::string_view text : texts) {
      stream << text;
      if (flush) stream.flush();
    }
  }
  return out.str();
}

}  // namespace

TEST_CASE("text passes as it is, and so do the program's own sequences") {
  CHECK(passed({"caf\xc3\xa9\n", "\x1b[1mBOLD\x1b[0m \x1b[2m\x1b[1;31mx\x1b[0m\n"}) ==
        "caf\xc3\xa9\n\x1b[1mBOLD\x1b[0m \x1b[2m\x1b[1;31mx\x1b[0m\n");
  CHECK(passed({"\r\x1b[K50 %"}, true) == "\r\x1b[K50 %");
  CHECK(passed({"\x1b[1", ";31m", "\xe2", "\x82\xac"}) == "\x1b[1;31m\xe2\x82\xac");
}

TEST_CASE("no other sequence, control character or broken byte does") {
  CHECK(passed({"\x1b]0;title\x07\x1b[2J\rOK\t\x7f"}) == "\\x1b]0;title\\x07\\x1b[2J\\x0dOK\\x09\\x7f");
  CHECK(passed({"\xff\xc2\x9b\xe2\x80\xae"}) == "\\xff\\xc2\\x9b\\xe2\\x80\\xae");
  CHECK(passed({"\x1b["}) == "\\x1b[");
  CHECK(passed({"\xe2\x82"}) == "\\xe2\\x82");
  CHECK(passed({"\xe2", "\x82"}, true) == "\\xe2\\x82");
}

TEST_CASE("a stream that cannot be written says so") {
  struct Full : std::streambuf {};
  Full full;
  std::ostream stream(&full);
  const PlainStream plain(stream);
  stream << "x" << std::flush;
  CHECK_FALSE(stream);
}

TEST_CASE("a word that holds what cannot be printed is quoted so that a shell reads it back") {
  CHECK(quoted("a b") == "'a b'");
  CHECK(quoted("it's") == "'it'\\''s'");
  CHECK(quoted("x\x1b[31m\n'\\") == "$'x\\x1b[31m\\x0a\\'\\\\'");
}

TEST_CASE("what an error lists stands below its sentence, and a copy of the error keeps it") {
  const npgpu::ListedError error(npgpu::ErrorKind::usage, "the trace has", {"a", "b"});
  const npgpu::ListedError copy = error;
  CHECK(copy.below() == std::vector<std::string>{"a", "b"});
}

// What a second signal does, in a process that does not come to its end.

namespace {

// How a child ends that gets the signal twice, so long apart: -1 if it is still there then and was asked to stop.
int end_of(int signal, std::chrono::milliseconds apart) {
  const pid_t child = ::fork();
  if (child == 0) {
    cli::catch_signals();
    std::raise(signal);
    std::this_thread::sleep_for(apart);
    std::raise(signal);
    ::_exit(cli::stop_asked() ? 75 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  return WEXITSTATUS(status) == 75 ? -1 : 0;
}

}  // namespace

TEST_CASE("two signals at once are one wish to stop, as timeout and batch systems send them") {
  for (const int signal : {SIGINT, SIGTERM, SIGXCPU}) CHECK(end_of(signal, std::chrono::milliseconds(0)) == -1);
}

TEST_CASE("who asks again after a while ends the program at once") {
  CHECK(end_of(SIGINT, std::chrono::milliseconds(2100)) == SIGINT);
}

// Folders for what nobody is to keep: gone with their process, or with the next one.

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

// TMPDIR, while it lives.
class TemporaryPlace {
 public:
  explicit TemporaryPlace(const fs::path& path) {
    if (const char* const set = std::getenv("TMPDIR")) before_ = set;
    ::setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryPlace() { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }

 private:
  std::optional<std::string> before_;
};

// A process that makes a folder with a file, and goes on to live.
pid_t user_of_a_folder() {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const cli::TemporaryFolder folder("check");
    write(folder.path() / "check.h5", "half a trace");
    if (::write(ends[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char one = 0;
  REQUIRE(::read(ends[0], &one, 1) == 1);
  for (const int end : ends) ::close(end);
  return child;
}
void end(pid_t process) {
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

}  // namespace

TEST_CASE("a folder is gone with the object, and what a killed process left goes when the next one begins") {
  const ScratchFolder scratch;
  const TemporaryPlace place(scratch.path());
  const pid_t first = user_of_a_folder(), second = user_of_a_folder();
  end(first);
  end(second);
  CHECK(scratch.names().size() == 2);
  {
    const cli::TemporaryFolder mine("check");
    CHECK(scratch.names() == Names{mine.path().filename().string()});
  }
  CHECK(scratch.names().empty());
}

TEST_CASE("a folder that is in use stays") {
  const ScratchFolder scratch;
  const TemporaryPlace place(scratch.path());
  const pid_t other = user_of_a_folder();
  const Names in_use = scratch.names();
  CHECK(in_use.size() == 1);
  { const cli::TemporaryFolder mine("check"); }
  CHECK(scratch.names() == in_use);
  CHECK(contents(scratch.path() / in_use[0] / "check.h5") == "half a trace");
  end(other);
}

TEST_CASE("only what was made here is removed: no link's target, no folder that others can write, none of the user's") {
  const ScratchFolder scratch;
  const TemporaryPlace place(scratch / "tmp");
  fs::create_directory(scratch / "tmp");
  fs::create_directory(scratch / "precious");
  write(scratch / "precious/check.h5", "kept");
  fs::permissions(scratch / "precious", fs::perms{0700});
  fs::create_symlink(scratch / "precious", scratch / "tmp/npgpu-check-link00");
  for (const char* name : {"npgpu-check-open00", "npgpu-check-node17", "npgpu-check-results"}) {
    const fs::path one = scratch / "tmp" / name;
    fs::create_directory(one);
    fs::permissions(one, fs::perms{one.filename() == "npgpu-check-open00" ? 0755u : 0700u});
    write(one / (one.filename() == "npgpu-check-node17" ? "node17.h5" : "check.h5"), "kept");
  }
  write(scratch / "tmp/npgpu-check-file00", "kept");
  { const cli::TemporaryFolder mine("check"); }
  CHECK(contents(scratch / "precious/check.h5") == "kept");
  CHECK(contents(scratch / "tmp/npgpu-check-open00/check.h5") == "kept");
  CHECK(contents(scratch / "tmp/npgpu-check-node17/node17.h5") == "kept");
  CHECK(contents(scratch / "tmp/npgpu-check-results/check.h5") == "kept");
  CHECK(contents(scratch / "tmp/npgpu-check-file00") == "kept");
}

TEST_CASE("TMPDIR that is none is named") {
  const ScratchFolder scratch;
  const TemporaryPlace place(scratch / "missing");
  const Said said = error_of([] { cli::TemporaryFolder("check"); });
  CHECK(said.has("TMPDIR"));
  CHECK(said.kind == ErrorKind::failed);
}

}  // namespace terminal_test
