// What a second signal does, in a process that does not come to its end.
#include "netpipe/cli/signals.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/scratch.hpp"

namespace signals_test {

using namespace npgpu;

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

}  // namespace signals_test
