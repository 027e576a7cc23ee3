// Files of a user: read, and written.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <thread>

#include "netpipe/files/input.hpp"
#include "netpipe/files/output.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "tests/scratch.hpp"

namespace files_test {

using namespace npgpu;

// What a user names as a file: plain ones and pipes are read, everything else is refused in a sentence, and soon.

namespace fs = std::filesystem;

namespace {

constexpr files::InputLimits hasty{
    .bytes = 1 << 20, .pipes = true, .writer = Seconds{0.2}, .silence = Seconds{0.3}, .total = Seconds{1}};

Said refused(const fs::path& path, const files::InputLimits& limits = hasty) {
  const Seconds begin = steady_clock().now();
  const Said said = error_of([&] { files::read_input("--config", path, limits); });
  CHECK(steady_clock().now() - begin < Seconds{5});
  CHECK(said.kind == ErrorKind::usage);
  CHECK(said.has(path.empty() ? "--config: needs" : "--config: " + path.string() + ": "));
  return said;
}

// Writes to a pipe's other end, as another process would.
template <class Write> std::thread writer(const fs::path& pipe, Write write) {
  return std::thread([pipe, write] {
    const process::Descriptor fd(::open(pipe.c_str(), O_WRONLY));
    write(fd.get());
  });
}
void put(int fd, const std::string& text) { CHECK(::write(fd, text.data(), text.size()) == ssize_t(text.size())); }

}  // namespace

TEST_CASE("a plain file is read whole") {
  const ScratchFolder folder;
  write(folder / "a", std::string(100000, 'x'));
  CHECK(files::read_input("--config", folder / "a") == std::string(100000, 'x'));
  write(folder / "empty", "");
  CHECK(files::read_input("--config", folder / "empty").empty());
  fs::create_symlink("a", folder / "link");
  CHECK(files::read_input("--config", folder / "link").size() == 100000);
}

TEST_CASE("what is no file is refused and named") {
  const ScratchFolder folder;
  CHECK(refused(folder / "missing").has("cannot be read: No such file or directory"));
  CHECK(refused("").has("needs a file name"));
  CHECK(refused(folder.path()).has("is a folder, not a plain file"));
  CHECK(refused("/dev/zero").has("is a device, not a plain file"));
  CHECK(refused("/dev/null").has("is a device"));
  fs::create_symlink("/dev/zero", folder / "zero");
  CHECK(refused(folder / "zero").has("is a device"));
  fs::create_symlink("loop", folder / "loop");
  CHECK(refused(folder / "loop").has("Too many levels of symbolic links"));

  const process::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, (folder / "socket").c_str(), sizeof name.sun_path - 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  CHECK(refused(folder / "socket").has("is a socket"));
}

TEST_CASE("what is too large is refused before it is read") {
  const ScratchFolder folder;
  write(folder / "exact", std::string(1 << 20, 'x'));
  CHECK(files::read_input("--config", folder / "exact", hasty).size() == 1 << 20);
  write(folder / "sparse", "");
  fs::resize_file(folder / "sparse", std::uintmax_t{1} << 40);
  CHECK(refused(folder / "sparse").has("more than 1 MiB"));
  // A file of the kernel's that says it has no bytes.
  CHECK(refused("/proc/self/pagemap").text.size() > 0);
}

TEST_CASE("a named pipe is read to its end") {
  const ScratchFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::thread one = writer(folder / "pipe", [](int fd) {
    put(fd, "first ");
    ::usleep(120'000);
    put(fd, "second");
  });
  CHECK(files::read_input("--config", folder / "pipe", hasty) == "first second");
  one.join();
  std::thread large = writer(folder / "pipe", [](int fd) { put(fd, std::string(300'000, 'y')); });
  CHECK(files::read_input("--config", folder / "pipe", hasty).size() == 300'000);
  large.join();
  std::thread nothing = writer(folder / "pipe", [](int) {});
  CHECK(files::read_input("--config", folder / "pipe", hasty).empty());
  nothing.join();
}

TEST_CASE("a pipe without a writer, without a word and without an end") {
  ::signal(SIGPIPE, SIG_IGN);  // of the writers whose pipe is given up
  const ScratchFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(refused(folder / "pipe").has("no process writes to it"));
  std::thread silent = writer(folder / "pipe", [](int fd) {
    put(fd, "x");
    ::usleep(800'000);
  });
  CHECK(refused(folder / "pipe").has("nothing came for 0.3 s"));
  silent.join();
  std::thread endless = writer(folder / "pipe", [](int fd) {
    for (int i = 0; i < 8; ++i) {
      if (::write(fd, "x", 1) < 0) return;
      ::usleep(200'000);
    }
  });
  CHECK(refused(folder / "pipe").has("without an end within 1 s"));
  endless.join();
  std::thread large = writer(folder / "pipe", [](int fd) {
    const std::string some(1 << 20, 'z');
    for (int i = 0; i < 4; ++i)
      if (::write(fd, some.data(), some.size()) < 0) return;
  });
  CHECK(refused(folder / "pipe").has("more than 1 MiB"));
  large.join();
  files::InputLimits again = hasty;
  again.pipes = false;
  CHECK(refused(folder / "pipe", again).has("is a pipe, and must be a plain file"));
}

TEST_CASE("the shell's <(command) is a pipe that is open already") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const process::Descriptor out(ends[0]);
  {
    const process::Descriptor in(ends[1]);
    put(in.get(), "{}");
  }
  CHECK(files::read_json("--reference", "/dev/fd/" + std::to_string(out.get())).is_object());
}

TEST_CASE("JSON that nests without end, repeats a key or is none") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text, files::RepeatedKeys keys = files::RepeatedKeys::refused) {
    write(folder / "x.json", text);
    return error_of([&] { files::read_json("--reference", folder / "x.json", {}, keys); });
  };
  CHECK(refused(std::string(1 << 20, '[')).has("nest deeper than 32 levels"));
  CHECK(refused("{\"a\":" + std::string(1 << 18, '[') + std::string(1 << 18, ']') + "}").has("nest deeper"));
  CHECK(refused("{\"a\": 1, \"a\": 2}").has("the key 'a' stands twice"));
  CHECK(refused("{\"a\": 1e999}").has("not JSON"));
  CHECK(refused("").has("not JSON"));
  write(folder / "x.json", "{\"a\": 1, \"a\": 2}");
  CHECK(files::read_json("--reference", folder / "x.json").at("a") == 2);
}

TEST_CASE("a folder is listed, and one that cannot be is an error as a value") {
  const ScratchFolder folder;
  write(folder / "b", "");
  write(folder / "a", "");
  std::error_code error;
  CHECK(files::entries_of(folder.path(), error) == std::vector<fs::path>{folder / "a", folder / "b"});
  CHECK_FALSE(error);
  CHECK(files::entries_of(folder / "missing", error).empty());
  CHECK(error);
}

// How files are replaced: whole or not at all, with their permissions, never through what somebody planted.

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

}  // namespace files_test
