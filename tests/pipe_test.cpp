// Processes that talk, take turns, and are found.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "netpipe/process/child.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "tests/scratch.hpp"

namespace pipe_test {

using namespace npgpu;
using process::Pipe;

// Descriptors, pipes and messages, with a process at the other end or none.

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

const std::string large(1 << 20, 'x');  // 16 times what a pipe holds

}  // namespace

TEST_CASE("a descriptor is closed by its last owner, once") {
  Pipe pipe;
  const int number = pipe.write_end.get();
  process::Descriptor other(std::move(pipe.write_end));
  CHECK_FALSE(pipe.write_end.open());
  CHECK(is_open(number));
  { const process::Descriptor last(std::move(other)); }
  CHECK_FALSE(is_open(number));
  const int kept = pipe.read_end.release();
  pipe.read_end = process::Descriptor();
  CHECK(is_open(kept));
  ::close(kept);
}

TEST_CASE("what is more than a pipe holds comes whole") {
  Pipe pipe;
  std::string come(large.size(), ' ');
  std::thread writer([&] { CHECK(process::write_all(pipe.write_end.get(), std::as_bytes(std::span(large))) == 0); });
  CHECK(process::read_all(pipe.read_end.get(), std::as_writable_bytes(std::span(come))));
  writer.join();
  CHECK(come == large);
}

TEST_CASE("a pipe that does not wait is waited for") {
  Pipe pipe;
  ::fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK);
  std::string come(large.size(), ' ');
  std::thread reader([&] { process::read_all(pipe.read_end.get(), std::as_writable_bytes(std::span(come))); });
  CHECK(process::write_all(pipe.write_end.get(), std::as_bytes(std::span(large))) == 0);
  reader.join();
  CHECK(come == large);
}

TEST_CASE("a reader that is gone is an error, and no signal") {
  Pipe pipe;
  pipe.read_end = process::Descriptor();
  CHECK(process::write_all(pipe.write_end.get(), std::as_bytes(std::span("word"))) == EPIPE);
  CHECK_FALSE(process::send(pipe.write_end.get(), {1, 2, "word"}));
  // Nor one that comes later, when signals are let through again.
  sigset_t pending;
  REQUIRE(::sigpending(&pending) == 0);
  CHECK(::sigismember(&pending, SIGPIPE) == 0);
}

TEST_CASE("a limit on file sizes is an error, and no signal") {
  const ScratchFolder folder;
  const process::Descriptor file(::open((folder / "a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK(process::write_all(file.get(), std::as_bytes(std::span(large))) == EFBIG);
  ::setrlimit(RLIMIT_FSIZE, &before);
}

TEST_CASE("a value that comes in part does not come") {
  Pipe pipe;
  CHECK(process::put(pipe.write_end.get(), std::uint16_t{258}));
  std::uint16_t whole = 0;
  CHECK(process::get(pipe.read_end.get(), whole));
  CHECK(whole == 258);
  CHECK(process::put(pipe.write_end.get(), 'a'));
  pipe.write_end = process::Descriptor();
  CHECK_FALSE(process::get(pipe.read_end.get(), whole));
}

TEST_CASE("there is something to read when a byte has come, and at the end") {
  Pipe pipe;
  const int from = pipe.read_end.get();
  const Seconds begin = steady_clock().now();
  CHECK_FALSE(process::is_readable(from, Seconds{0}));
  CHECK_FALSE(process::is_readable(from, Seconds{-1}));
  CHECK_FALSE(process::is_readable(from, Seconds{0.05}));
  CHECK(steady_clock().now() - begin >= Seconds{0.05});
  CHECK(process::put(pipe.write_end.get(), 'a'));
  CHECK(process::is_readable(from, Seconds{0}));
  char byte = 0;
  CHECK(process::get(from, byte));
  CHECK_FALSE(process::is_readable(from, Seconds{0}));
  pipe.write_end = process::Descriptor();
  CHECK(process::is_readable(from, Seconds{0}));
}

TEST_CASE("signals do not end a wait") {
  static volatile std::sig_atomic_t caught = 0;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { caught = 1; };  // without SA_RESTART: it interrupts
  ::sigaction(SIGUSR1, &action, &before);
  Pipe pipe;
  const pthread_t self = ::pthread_self();
  std::thread other([&] {
    ::usleep(20'000);
    ::pthread_kill(self, SIGUSR1);
    ::usleep(20'000);
    process::put(pipe.write_end.get(), 'a');
  });
  CHECK(process::is_readable(pipe.read_end.get(), Seconds{60}));
  other.join();
  CHECK(caught == 1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("messages come whole and in order, however they are cut") {
  Pipe pipe;
  std::thread writer([&] {
    const int to = pipe.write_end.get();
    process::send(to, {1, 7});
    process::send(to, {2, 8, large});
    process::send(to, {3, 9, "last"});
    process::put(to, 'a');  // the beginning of another one
    pipe.write_end = process::Descriptor();
  });
  process::Inbox inbox(std::move(pipe.read_end));
  std::vector<process::Message> all;
  while (inbox.read_some())
    while (auto message = inbox.next()) all.push_back(std::move(*message));
  writer.join();
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == 1);
  CHECK(all[0].number == 7);
  CHECK(all[0].text.empty());
  CHECK(all[1].text == large);
  CHECK(all[2].kind == 3);
  CHECK(all[2].number == 9);
  CHECK(all[2].text == "last");
  CHECK_FALSE(inbox.next().has_value());
}

TEST_CASE("where no descriptor is left, a pipe is refused with the reason") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto said = error_of([] { Pipe(); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(said.kind == ErrorKind::failed);
  CHECK(said.text == "a pipe cannot be made: Too many open files");
}

// Processes that measure GPUs side by side take turns at what would slow the others.

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

TEST_CASE("turns of different numbers do not wait for each other, and shared ones for none that is shared") {
  const process::Turn turn;
  const pid_t child = child_that([&] { return std::pair{turn.take(0), turn.take(1, true)}; });
  const auto beside = turn.take(1, true);
  CHECK(holder(turn) == child);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::kill(child, SIGKILL);
  });
  const auto alone = turn.take(0);
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

// What the kernel knows of another process.

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

}  // namespace pipe_test
