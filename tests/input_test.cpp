// What a user names as a file: plain ones and pipes are read, everything else is refused in a sentence, and soon.
#include "netpipe/files/input.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "netpipe/files/folder.hpp"
#include "netpipe/files/json_input.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/clock.hpp"
#include "tests/scratch.hpp"

namespace input_test {

using namespace npgpu;
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

}  // namespace input_test
