// How files are replaced: whole or not at all, with their permissions, never through what somebody planted.
#include "netpipe/files/output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <span>

#include "netpipe/process/descriptor.hpp"
#include "tests/scratch.hpp"

namespace output_test {

using namespace npgpu;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

void replace(const fs::path& path, const std::string& text) {
  files::replace_file(files::place_of(path), std::as_bytes(std::span(text)), "tmp-7");
}
unsigned bits(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }

// What a child process makes of it: its exit code.
template <class Act> int in_child(Act act) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(act());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a file appears whole, and what was there keeps its permissions") {
  const ScratchFolder folder;
  replace(folder / "a", "first");
  CHECK(contents(folder / "a") == "first");
  fs::permissions(folder / "a", fs::perms{0640});
  replace(folder / "a", "second");
  CHECK(contents(folder / "a") == "second");
  CHECK(bits(folder / "a") == 0640u);
  CHECK(folder.names() == Names{"a"});
}

TEST_CASE("a link that somebody planted under the temporary name is not followed") {
  const ScratchFolder folder;
  write(folder / "precious", "precious");
  fs::create_symlink("precious", folder / ".a.npgpu-tmp-7");
  replace(folder / "a", "mine");
  CHECK(contents(folder / "precious") == "precious");
  CHECK(contents(folder / "a") == "mine");
  CHECK(folder.names() == Names{"a", "precious"});
}

TEST_CASE("a link of another user's in a folder that all may write is not followed; one of our own is") {
  const ScratchFolder folder;
  const fs::path shared = folder / "shared";
  fs::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  fs::create_symlink(folder / "target", shared / "link");
  replace(shared / "link", "own");
  CHECK(contents(folder / "target") == "own");
  if (::geteuid() != 0) {
    MESSAGE("the rest is skipped: only root can give a link to another user");
    return;
  }
  REQUIRE(::lchown((shared / "link").c_str(), 12345, 12345) == 0);
  CHECK(error_of([&] { replace(shared / "link", "planted"); }).has("another user put"));
  CHECK(contents(folder / "target") == "own");
}

TEST_CASE("what nobody may write is not replaced, root's included") {
  const ScratchFolder folder;
  write(folder / "a", "kept");
  fs::permissions(folder / "a", fs::perms{0444});
  const Said said = error_of([&] { files::refuse_protected(folder / "a"); });
  CHECK(said.kind == ErrorKind::usage);
  CHECK(said.has("is write-protected"));
  fs::permissions(folder / "a", fs::perms{0644});
  files::refuse_protected(folder / "a");
  files::refuse_protected(folder / "missing");
}

TEST_CASE("a file of another user's that root replaces stays that user's") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  const ScratchFolder folder;
  write(folder / "a", "x");
  REQUIRE(::chown((folder / "a").c_str(), 12345, 12346) == 0);
  replace(folder / "a", "y");
  struct stat is {};
  REQUIRE(::stat((folder / "a").c_str(), &is) == 0);
  CHECK(is.st_uid == 12345);
  CHECK(is.st_gid == 12346);
}

TEST_CASE("past a limit on file sizes it is a sentence, and nothing is left") {
  const ScratchFolder folder;
  write(folder / "a", "before");
  const int code = in_child([&] {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{1000, 1000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 9;
    try {
      replace(folder / "a", std::string(5000, 'x'));
    } catch (const Error& e) {
      return std::string(e.what()).find("File too large; what was saved before is intact") != std::string::npos ? 0 : 2;
    }
    return 1;
  });
  CHECK(code == 0);
  CHECK(contents(folder / "a") == "before");
  CHECK(folder.names() == Names{"a"});
}

TEST_CASE("a process that is killed while it replaces files leaves whole ones and nothing else") {
  const ScratchFolder folder;
  for (const int by : {SIGTERM, SIGKILL}) {
    for (int round = 0; round < 20; ++round) {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::signal(by, SIG_DFL);  // doctest catches SIGTERM
        for (;;) replace(folder / "a", std::string(200'000, 'x'));
      }
      ::usleep(2000 + 700 * round);
      ::kill(child, by);
      REQUIRE(::waitpid(child, nullptr, 0) == child);
      // In the instant between its name and the rename only the last can happen, and then the file is whole, too.
      for (const std::string& name : folder.names()) CHECK(contents(folder / name.c_str()).size() == 200'000);
      if (by == SIGTERM) CHECK(folder.names().size() <= 1);
    }
  }
}

TEST_CASE("places that cannot be") {
  const ScratchFolder folder;
  CHECK(error_of([] { files::place_of(""); }).has("needs a file name"));
  CHECK(error_of([&] { files::place_of(folder.path()); }).has("is a folder"));
  fs::create_symlink("loop", folder / "loop");
  CHECK(error_of([&] { files::place_of(folder / "loop"); }).has("without end"));
  CHECK(error_of([&] { replace(folder / "missing/a", "x"); }).has("nothing is saved there"));
}

TEST_CASE("a closed standard descriptor does not become a file's") {
  const ScratchFolder folder;
  const int code = in_child([&] {
    for (const int standard : {0, 1, 2}) ::close(standard);
    process::keep_standard_descriptors();
    const process::Descriptor fd(::open((folder / "a").c_str(), O_WRONLY | O_CREAT, 0600));
    if (fd.get() <= 2) return 1;
    return ::write(1, "x", 1) < 0 && ::write(2, "x", 1) < 0 ? 0 : 2;
  });
  CHECK(code == 0);
}

}  // namespace output_test
