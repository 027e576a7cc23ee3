// What the kernel knows of another process.
#include "netpipe/process/others.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/scratch.hpp"

namespace others_test {

using namespace npgpu;

TEST_CASE("a process that runs, is stopped, ended, and was taken leave of") {
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  const std::string start = process::start_of(child);
  CHECK(start != "");
  CHECK(start == process::start_of(child));
  CHECK(process::fate_of(child, start) == "");
  ::kill(child, SIGSTOP);
  REQUIRE(::waitpid(child, nullptr, WUNTRACED) == child);
  CHECK(process::fate_of(child, start) == "is stopped");
  CHECK(process::fate_of(child, "") == "");  // it was never seen
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(process::fate_of(child, start) == "is gone");  // its parent has not asked yet
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(process::start_of(child) == "");
  CHECK(process::fate_of(child, start) == "is gone");
}

TEST_CASE("another process with the same number is not the one that was seen") {
  CHECK(process::fate_of(::getpid(), process::start_of(::getpid())) == "");
  CHECK(process::fate_of(::getpid(), process::start_of(::getpid()) + "1") == "is gone");
}

}  // namespace others_test
