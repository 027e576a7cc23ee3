// Children that end well, die, hang, talk too much or hang up.
#include "netpipe/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <span>

#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "tests/scratch.hpp"

// Tests are not sanitized themselves; what they test may be.
extern "C" [[gnu::weak]] void __asan_init();

namespace child_test {

using namespace npgpu;
using process::ForkedChild;
using Outcome = process::Reply::Outcome;

namespace {

process::Reply reply_of(const std::function<std::string()>& answer) { return process::reply_of_child(answer, {}); }

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

[[noreturn]] void hang() {
  for (;;) ::pause();
}

process::Program shell(const std::string& script) { return {.words = {"sh", "-c", script}, .file = "/bin/sh"}; }

std::string all_from(const process::Descriptor& from) {
  std::string all;
  for (char one = 0; process::get(from.get(), one);) all += one;
  return all;
}

const std::string large(1 << 20, 'x');  // 16 times what a pipe holds

}  // namespace

TEST_CASE("a child's reply is what its function returned or threw, also more than a pipe holds") {
  const auto returned = reply_of([] { return large; });
  CHECK(returned.outcome == Outcome::returned);
  CHECK(returned.text == large);
  CHECK(reply_of([] { return std::string(); }).outcome == Outcome::returned);
  const auto threw = reply_of([]() -> std::string { throw Error(ErrorKind::usage, large); });
  CHECK(threw.outcome == Outcome::threw);
  CHECK(threw.text == large);
}

TEST_CASE("of a child that dies it is said what of") {
  const auto crashed = reply_of([] { return std::to_string(raise(SIGSEGV)); });
  CHECK(crashed.outcome == Outcome::died);
  CHECK(crashed.text == "Segmentation fault");
  const auto left = reply_of([]() -> std::string { _exit(3); });
  CHECK(left.outcome == Outcome::died);
  CHECK(left.text == "it ends without a word");
  const auto strange = reply_of([]() -> std::string { throw 3; });
  CHECK(strange.outcome == Outcome::died);
  CHECK(strange.text == "it ends without a word");
}

TEST_CASE("a child that closes its pipe early, and goes on, has said nothing") {
  const auto deaf = reply_of([]() -> std::string {
    ::closefrom(3);
    return "word";
  });
  CHECK(deaf.outcome == Outcome::died);
  CHECK(deaf.text == "it ends without a word");
}

TEST_CASE("a child that goes round uses up its processor time, and one that hangs its time on the wall") {
  const auto endless = reply_of([] {
    while (getppid() > 0) {
    }
    return std::string();
  });
  CHECK(endless.outcome == Outcome::died);
  CHECK(endless.text == "it does not end");
  pid_t pid = 0;
  process::Pipe pipe;
  const auto hanging = process::reply_of_child(
      [&]() -> std::string {
        process::put(pipe.write_end.get(), ::getpid());
        hang();
      },
      {.wall_time = Seconds{0.1}});
  CHECK(hanging.outcome == Outcome::died);
  CHECK(hanging.text == "it does not end");
  REQUIRE(process::get(pipe.read_end.get(), pid));
  CHECK(is_gone(pid));
}

TEST_CASE("a child that takes too much memory is told so, and its parent is not") {
  if (__asan_init) return;  // whose shadows need more room than any limit leaves
  const auto greedy = reply_of([] {
    std::vector<std::string> all;
    while (getppid() > 0) all.emplace_back(1 << 20, 'x');
    return std::string();
  });
  CHECK(greedy.outcome == Outcome::no_memory);
}

TEST_CASE("where no child can be made, the reply says so") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto reply = reply_of([] { return std::string("word"); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(reply.outcome == Outcome::not_started);
}

TEST_CASE("a forked child writes to its parent, prints nothing, and runs no destructor of it") {
  const ScratchFolder folder;
  struct Marks {
    std::filesystem::path path;
    ~Marks() { write(path, "destroyed"); }
  };
  process::Pipe standard;
  const process::Descriptor kept(::dup(STDOUT_FILENO));
  ::dup2(standard.write_end.get(), STDOUT_FILENO);
  {
    const Marks marks{folder / "mark"};
    ForkedChild forked([&](int write_end) {
      (void)!::write(STDOUT_FILENO, "noise", 5);
      process::put(write_end, 'a');
    });
    CHECK(all_from(forked.read_end) == "a");
    CHECK(forked.child.wait().exit_code() == 0);
    CHECK_FALSE(forked.child.is_there());
    CHECK_FALSE(std::filesystem::exists(folder / "mark"));
  }
  ::dup2(kept.get(), STDOUT_FILENO);
  standard.write_end = process::Descriptor();
  CHECK(all_from(standard.read_end).empty());
  ForkedChild threw([](int) { throw 1; });
  CHECK(threw.child.wait().exit_code() == 1);
}

TEST_CASE("a child ends with its parent") {
  process::Pipe pipe;
  pid_t grandchild = 0;
  {
    ForkedChild parent([&](int) {
      ForkedChild of_child([&](int) {
        process::put(pipe.write_end.get(), ::getpid());
        hang();
      });
      hang();
    });
    REQUIRE(process::get(pipe.read_end.get(), grandchild));
  }  // killed here
  pipe.write_end = process::Descriptor();
  CHECK(process::is_readable(pipe.read_end.get(), Seconds{60}));  // the end: nobody else has the other end
  CHECK(all_from(pipe.read_end).empty());
}

TEST_CASE("a child that is not awaited is killed when its owner goes, and left in peace when it was") {
  pid_t pid = 0;
  {
    const ForkedChild forked([](int) { hang(); });
    pid = forked.child.pid();
    CHECK_FALSE(is_gone(pid));
  }
  CHECK(is_gone(pid));
  ForkedChild first([](int write_end) {
    process::put(write_end, 'a');
    hang();
  });
  CHECK(process::is_readable(first.read_end.get(), Seconds{60}));  // from now on signals do to it what they do
  process::Child owner = std::move(first.child);
  CHECK_FALSE(first.child.is_there());
  CHECK_FALSE(owner.ended().has_value());
  owner.signal(SIGTERM);
  const auto ending = owner.wait();
  CHECK(ending.signal() == SIGTERM);
  CHECK_FALSE(ending.exit_code().has_value());
  CHECK(ending.text() == "Terminated");
  owner.signal(SIGTERM);  // nobody
  CHECK_FALSE(owner.is_there());
}

TEST_CASE("it is seen without waiting that a child has ended") {
  ForkedChild forked([](int) { ::_exit(7); });
  std::optional<process::Ending> ending;
  const Seconds end = steady_clock().now() + Seconds{60};
  while (!(ending = forked.child.ended()) && steady_clock().now() < end) ::usleep(1000);
  REQUIRE(ending.has_value());
  CHECK(ending->exit_code() == 7);
  CHECK_FALSE(forked.child.is_there());
}

TEST_CASE("where a process ignores how its children end, waiting for them ends") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const auto reply = reply_of([] { return std::string("word"); });
  CHECK(reply.outcome == Outcome::returned);
  CHECK(reply.text == "word");
  ::signal(SIGCHLD, before);
}

TEST_CASE("a program has the descriptors that are given to it, and no others") {
  process::Pipe in, out, fifth, kept;
  auto program = shell("read line; echo \"$line\" \"$0\" \"$1\"; echo five >&5; [ -e /proc/self/fd/" +
                       std::to_string(kept.write_end.get()) + " ] || exit 4");
  program.words.insert(program.words.end(), {"name", "an argument"});
  program.given = {{in.read_end.get(), STDIN_FILENO},
                   {out.write_end.get(), STDOUT_FILENO},
                   {::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO},
                   {fifth.write_end.get(), 5}};
  process::Child child = process::started(program, "a shell");
  for (process::Pipe* one : {&out, &fifth, &kept}) one->write_end = process::Descriptor();
  const std::string line = "hello\n";
  CHECK(process::write_all(in.write_end.get(), std::as_bytes(std::span(line))) == 0);
  CHECK(all_from(out.read_end) == "hello name an argument\n");
  CHECK(all_from(fifth.read_end) == "five\n");
  CHECK(all_from(kept.read_end).empty());
  CHECK(child.wait().exit_code() == 4);
  ::close(program.given[2].descriptor);
}

TEST_CASE("giving one descriptor does not replace another that is still to be given") {
  process::Pipe one, other;
  auto program = shell("echo one >/proc/self/fd/" + std::to_string(other.write_end.get()) +
                       "; echo other >/proc/self/fd/" + std::to_string(one.write_end.get()));
  program.given = {{one.write_end.get(), other.write_end.get()}, {other.write_end.get(), one.write_end.get()}};
  process::Child child = process::started(program, "a shell");
  for (process::Pipe* pipe : {&one, &other}) pipe->write_end = process::Descriptor();
  CHECK(all_from(one.read_end) == "one\n");
  CHECK(all_from(other.read_end) == "other\n");
  CHECK(child.wait().exit_code() == 0);
}

TEST_CASE("what a library prints goes to standard error, and what is printed before and after it does not") {
  const process::Descriptor output(::memfd_create("output", 0)), errors(::memfd_create("errors", 0));
  std::fflush(stdout);  // or the child has it, too
  ForkedChild forked([&](int) {
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(errors.get(), STDERR_FILENO);
    std::printf("before, ");
    {
      const process::OutputToErrors libraries;
      std::printf("NCCL version\n");  // held by the stream
      process::write_all(STDOUT_FILENO, std::as_bytes(std::span("and its log", 11)));
    }
    std::printf("after");
    std::fflush(stdout);
  });
  CHECK(forked.child.wait().exit_code() == 0);
  for (const process::Descriptor* file : {&output, &errors}) ::lseek(file->get(), 0, SEEK_SET);
  CHECK(all_from(output) == "before, after");
  CHECK(all_from(errors) == "and its logNCCL version\n");
}

TEST_CASE("a program in a group of its own does not get what a terminal sends to this one") {
  auto program = shell("exec sleep 60");
  const process::Child same = process::started(program, "a shell");
  CHECK(::getpgid(same.pid()) == ::getpgid(0));
  program.in_own_group = true;
  const process::Child own = process::started(program, "a shell");
  CHECK(::getpgid(own.pid()) == own.pid());
}

TEST_CASE("a program that is not there is refused with the reason") {
  const auto said = error_of([] { process::started({.words = {"x"}, .file = "/nowhere/x"}, "a process for sim:x"); });
  CHECK(said.kind == ErrorKind::failed);
  CHECK(said.text == "a process for sim:x cannot be started: No such file or directory");
  const auto closed = error_of([] { process::started({.words = {"sh"}, .given = {{-1, 0}}}, "a shell"); });
  CHECK(closed.text == "a shell cannot be started: Bad file descriptor");
}

}  // namespace child_test
