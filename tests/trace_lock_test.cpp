// One writer a trace, and no lock outlives its holder.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "made_trace.hpp"
#include "netpipe/trace/files.hpp"

namespace trace_lock_test {

using namespace npgpu;
using Names = std::vector<std::string>;

namespace {

// A child that holds the lock of `path` until it is killed or told to leave.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& path) {
    std::array<int, 2> ready{}, leave{};
    REQUIRE(pipe(ready.data()) == 0);
    REQUIRE(pipe(leave.data()) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(leave[1]);
      char byte = 0;
      try {
        const trace::Lock lock(path);
        if (::write(ready[1], "+", 1) != 1) _exit(2);
        if (read(leave[0], &byte, 1) < 0) _exit(3);
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    close(ready[1]);
    close(leave[0]);
    leave_ = leave[1];
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
  }
  ~Holder() { end(SIGKILL); }
  pid_t pid() const { return pid_; }
  void go() { end(0); }
  void kill9() { end(SIGKILL); }

 private:
  void end(int signal) {
    if (pid_ < 0) return;
    if (signal) kill(pid_, signal);
    close(leave_);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid_ = -1;
  int leave_ = -1;
};

Said refused(const std::filesystem::path& path) {
  const Said said = error_of([&] { trace::Lock lock(path); });
  CHECK(said.kind == ErrorKind::usage);
  return said;
}

}  // namespace

TEST_CASE("a second process is refused and told who has it") {
  const ScratchFolder folder;
  Holder holder(folder / "t.h5");
  const Said said = refused(folder / "t.h5");
  CHECK(said.has("t.h5: is being written by process " + std::to_string(holder.pid())));
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  CHECK(said.has(" on " + std::string(host.data())));
  holder.go();
  CHECK(folder.names().empty());
  trace::Lock lock(folder / "t.h5");
}

TEST_CASE("a whole writer is refused before it looks at the trace") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  Holder holder(folder / "t.h5");
  for (const IfExists how : {IfExists::refuse, IfExists::replace, IfExists::resume})
    CHECK(error_of([&] { TraceWriter(folder / "t.h5", how, root_of("x"), {}); }).has("is being written"));
}

TEST_CASE("a second writer in the same process is refused too") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  CHECK(refused(folder / "t.h5").has("process " + std::to_string(getpid())));
  trace::Lock other(folder / "u.h5");
}

TEST_CASE("kill -9 leaves a lock file that does no harm") {
  const ScratchFolder folder;
  Holder holder(folder / "t.h5");
  holder.kill9();
  CHECK(folder.names() == Names{"t.h5.lock"});
  { trace::Lock lock(folder / "t.h5"); }
  CHECK(folder.names().empty());
}

TEST_CASE("a file of the lock's name that no npgpu wrote is refused and left alone") {
  const ScratchFolder folder;
  for (const char* text : {"", "a letter", "process 1 on elsewhere\n", "\xff\xff noise %s %n"}) {
    write(folder / "t.h5.lock", text);
    const Said said = refused(folder / "t.h5");
    CHECK(said.has("t.h5.lock"));
    CHECK(said.has("move it"));
    CHECK(contents(folder / "t.h5.lock") == text);
  }
  std::filesystem::remove(folder / "t.h5.lock");
  REQUIRE(mkfifo((folder / "t.h5.lock").c_str(), 0600) == 0);
  CHECK(refused(folder / "t.h5").has("t.h5.lock"));
}

TEST_CASE("a lock of a process that is gone, or whose number another one has, is taken over") {
  const ScratchFolder folder;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  const std::string on = " on " + std::string(host.data()) + " started another-boot:1\n";
  for (const pid_t pid : {child, getpid()}) {
    write(folder / "t.h5.lock", "npgpu process " + std::to_string(pid) + on);
    trace::Lock lock(folder / "t.h5");
    CHECK(refused(folder / "t.h5").has("process " + std::to_string(getpid())));
  }
}

TEST_CASE("a lock file of another node, left behind") {
  const ScratchFolder folder;
  write(folder / "t.h5.lock", "npgpu process 1 on elsewhere started some-boot:1\n");
  struct flock whole {};
  whole.l_type = F_WRLCK;
  const int fd = open((folder / "probe").c_str(), O_RDWR | O_CREAT, 0600);
  const bool has_locks = fcntl(fd, F_OFD_SETLK, &whole) == 0;
  close(fd);
  if (has_locks) {
    trace::Lock lock(folder / "t.h5");  // the kernel knows that nobody has it
    CHECK(refused(folder / "t.h5").has("process " + std::to_string(getpid())));
  } else {
    const Said said = refused(folder / "t.h5");
    CHECK(said.has("process 1 on elsewhere"));
    CHECK(said.has("remove " + (folder / "t.h5.lock").string() + " on any node"));
  }
}

TEST_CASE("a lock has its holder's name from its first moment") {
  const ScratchFolder folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0)
    for (;;) trace::Lock lock(folder / "t.h5");
  int seen = 0, unsigned_ones = 0;
  while (seen < 2000) {
    const int fd = open((folder / "t.h5.lock").c_str(), O_RDONLY);
    if (fd < 0) continue;
    std::array<char, 16> text{};
    unsigned_ones += pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size());
    close(fd);
    ++seen;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(unsigned_ones == 0);
}

TEST_CASE("a lock file that somebody removed does not let the first holder remove the second's") {
  const ScratchFolder folder;
  auto first = std::make_unique<trace::Lock>(folder / "t.h5");
  std::filesystem::remove(folder / "t.h5.lock");
  trace::Lock second(folder / "t.h5");
  first.reset();
  CHECK(folder.names() == Names{"t.h5.lock"});
  CHECK(refused(folder / "t.h5").has("is being written"));
}

TEST_CASE("a lock file that is a symbolic link is not followed") {
  const ScratchFolder folder;
  write(folder / "precious", "text");
  std::filesystem::create_symlink("precious", folder / "t.h5.lock");
  CHECK(refused(folder / "t.h5").has("t.h5.lock"));
  CHECK(contents(folder / "precious") == "text");
}

TEST_CASE("many processes take and leave it: never two at once") {
  // Each holder writes its number into a file, waits, and finds it unchanged. Creation, removal and taking over race.
  const ScratchFolder folder;
  constexpr int processes = 8, rounds = 150;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const std::string mine = std::to_string(getpid());
      int held = 0;
      for (int attempts = 0; held < rounds && attempts < 2000000; ++attempts) {
        try {
          const trace::Lock lock(folder / "t.h5");
          const int fd = open((folder / "owner").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
          if (fd < 0 || ::write(fd, mine.data(), mine.size()) < 0) _exit(2);
          sched_yield();
          if (contents(folder / "owner") != mine) _exit(3);
          close(fd);
          ++held;
        } catch (const Error&) {
          sched_yield();
        }
      }
      _exit(held == rounds ? 0 : 4);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(folder.names() == Names{"owner"});
}

}  // namespace trace_lock_test
