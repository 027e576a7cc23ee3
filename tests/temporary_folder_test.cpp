// Folders for what nobody is to keep: gone with their process, or with the next one.
#include "netpipe/cli/temporary_folder.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "tests/scratch.hpp"

namespace temporary_folder_test {

using namespace npgpu;
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

}  // namespace temporary_folder_test
