#include "netpipe/cli/plain_streams.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "netpipe/cli/commands.hpp"
#include "npgpu/listed_error.hpp"

namespace plain_streams_test {

using namespace npgpu::cli;

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

}  // namespace plain_streams_test
