// A child process that goes first.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_trace.hpp"
#include "netpipe/trace/decode.hpp"

namespace guarded_read_test {

using namespace npgpu;

TEST_CASE("a guarded read says how it ended") {
  const auto guarded_read = [](const std::function<void()>& read) { return trace::guarded_read(read, Seconds{1}); };
  using Outcome = trace::GuardedRead::Outcome;
  CHECK(guarded_read([] {}).outcome == Outcome::well);
  const auto threw = guarded_read([] { throw Error(ErrorKind::usage, std::string(100000, 'x')); });
  CHECK(threw.outcome == Outcome::threw);
  CHECK(threw.text == std::string(100000, 'x'));  // more than a pipe holds
  const auto crashed = guarded_read([] { raise(SIGSEGV); });
  CHECK(crashed.outcome == Outcome::died);
  CHECK(crashed.text == "Segmentation fault");
  const auto left = guarded_read([] { _exit(3); });
  CHECK(left.outcome == Outcome::died);
  CHECK(left.text == "it ends without a word");
  const auto endless = guarded_read([] {
    while (getppid() > 0) {
    }
  });
  CHECK(endless.outcome == Outcome::died);
  CHECK(endless.text == "it does not end");
}

TEST_CASE("a sound trace is sound with any of the standard descriptors closed") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  for (unsigned closed = 0; closed < 8; ++closed) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int fd = 0; fd < 3; ++fd)
        if (closed & 1u << fd) close(fd);
      try {
        _exit(read_trace(folder / "t.h5", Guard::child).of<Transfers>().size() == 1 ? 0 : 2);
      } catch (...) {
        _exit(1);
      }
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CAPTURE(closed);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace guarded_read_test
