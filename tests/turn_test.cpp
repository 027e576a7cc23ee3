// Processes that measure GPUs side by side take turns at what would slow the others.
#include "netpipe/process/turn.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/scratch.hpp"

namespace turn_test {

using namespace npgpu;

namespace {

// The process that has the turn and would keep this one waiting; 0: there is none.
pid_t holder(const process::Turn& turn) {
  struct flock asked {};
  asked.l_type = F_WRLCK;
  asked.l_whence = SEEK_SET;
  REQUIRE(::fcntl(turn.get(), F_GETLK, &asked) == 0);
  return asked.l_type == F_UNLCK ? 0 : asked.l_pid;
}

// Runs it in a child that then waits to be killed, and returns when it has run.
template <class Act> pid_t child_that(Act act) {
  std::array<int, 2> done{};
  REQUIRE(::pipe(done.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    [[maybe_unused]] const auto kept = act();
    (void)!::write(done[1], "", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(done[0], &byte, 1) == 1);
  ::close(done[0]);
  ::close(done[1]);
  return child;
}

void kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a process has its turn until it gives it back") {
  const process::Turn turn;
  const pid_t child = child_that([&] { return turn.take(); });
  CHECK(holder(turn) == child);
  kill_and_wait(child);
  const pid_t other = child_that([&] {
    turn.take().reset();
    return 0;
  });
  CHECK(holder(turn) == 0);
  kill_and_wait(other);
}

TEST_CASE("one that is killed has its turn no longer, and who waits gets it") {
  const process::Turn turn;
  const pid_t child = child_that([&] { return turn.take(); });
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::kill(child, SIGKILL);
  });
  const auto mine = turn.take();
  later.join();
  ::waitpid(child, nullptr, 0);
  CHECK(holder(turn) == 0);  // but this process
}

TEST_CASE("a turn is told from other files that are inherited") {
  const process::Turn turn;
  CHECK_NOTHROW(process::Turn(process::Descriptor(::dup(turn.get()))));
  CHECK(error_of([] { process::Turn{process::Descriptor(::open("/dev/null", O_RDWR))}; }).kind == ErrorKind::failed);
  CHECK(error_of([] { process::Turn{process::Descriptor()}; }).kind == ErrorKind::failed);
}

}  // namespace turn_test
