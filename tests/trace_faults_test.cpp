// Disks that are full, and files whose reading kills a process.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "made_trace.hpp"
#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/hdf5.hpp"

namespace trace_faults_test {

using namespace npgpu;
using Names = std::vector<std::string>;

// A disk that fills up, and a limit on file sizes: one sentence, the last checkpoint intact, no temporary file, and a
// later save can succeed.

namespace {

// A file system of 256 KiB, while the object lives.
class SmallDisk {
 public:
  SmallDisk() { mounted_ = mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=256k") == 0; }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
  bool mounted_ = false;
};

// Adds points until a save fails; their number that were saved before.
std::uint64_t fill(TraceWriter& writer, std::size_t series, Said& said) {
  for (std::uint64_t saved = 0; saved < 10000; ++saved) {
    add(writer, series, saved + 1, 20);
    try {
      writer.checkpoint();
    } catch (const Error& e) {
      said = {e.what(), e.kind()};
      return saved;
    }
  }
  return 10000;
}

}  // namespace

TEST_CASE("a full disk") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    MESSAGE("skipped: a small tmpfs cannot be mounted here (that needs root)");
    return;
  }
  const ScratchFolder& folder = disk.folder();
  std::uint64_t saved = 0;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    Said said;
    saved = fill(writer, series, said);
    CHECK(said.kind == ErrorKind::failed);
    CHECK(said.has("t.h5: cannot save"));
    CHECK(said.has("No space left on device"));
    CHECK(said.has("what was saved before is intact"));
    CHECK(saved > 50);
    CHECK(folder.names() == Names{"t.h5", "t.h5.lock"});
    CHECK(read_trace(folder / "t.h5").of<Transfers>()[0].visits.size() == saved);

    // Room again: the same writer saves all that it holds.
    REQUIRE(mount("tmpfs", folder.path().c_str(), "tmpfs", MS_REMOUNT, "size=4m") == 0);
    writer.finish();
  }
  CHECK(read_trace(folder / "t.h5").of<Transfers>()[0].visits.size() == saved + 1);
  CHECK(folder.names() == Names{"t.h5"});
}

TEST_CASE("a disk that is full from the start") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    MESSAGE("skipped: a small tmpfs cannot be mounted here (that needs root)");
    return;
  }
  const ScratchFolder& folder = disk.folder();
  write(folder / "ballast", std::string(1 << 20, 'x'));  // as much of it as fits
  CHECK(error_of([&] {
          TraceWriter(folder / "t.h5", IfExists::refuse, root_of("x"), {});
        }).has("No space left on device"));
  CHECK(folder.names() == Names{"ballast"});
}

TEST_CASE("a limit on file sizes, as batch systems set them") {
  // In a child: the limit would be ours for good.
  const ScratchFolder folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_DFL);  // which ends the program
    const rlimit limit{100000, 100000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(9);
    int code = 1;
    try {
      TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
      Said said;
      const std::uint64_t saved = fill(writer, writer.begin<Transfers>(header_of()), said);
      const bool as_said = said.kind == ErrorKind::failed && said.has("File too large") && said.has("intact");
      const bool kept = read_trace(folder / "t.h5").of<Transfers>()[0].visits.size() == saved;
      sigset_t waiting;
      sigpending(&waiting);
      code = sigismember(&waiting, SIGXFSZ)                 ? 6
             : !as_said                                     ? 2
             : !kept                                        ? 3
             : saved < 20                                   ? 4
             : folder.names() != Names{"t.h5", "t.h5.lock"} ? 5
                                                            : 0;
    } catch (...) {
    }
    std::filesystem::remove(folder / "t.h5.lock");
    _exit(code);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

// A child process that goes first.

namespace {

// HDF5's name of a new file in memory is numbered.
std::string next_image() {
  std::string name(100, '\0');
  name.resize(static_cast<std::size_t>(trace::done(H5Fget_name(trace::new_image(), name.data(), 100), "ask a name")));
  return name;
}
unsigned long images_since(const std::string& image) {
  const auto number = [](const std::string& name) { return std::stoul(name.substr(name.rfind('-') + 1)); };
  return number(next_image()) - number(image) - 1;
}

}  // namespace

TEST_CASE("where a child reads, the process itself never opens the file") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::string before = next_image();
  CHECK(read_trace(folder / "t.h5", Guard::child).of<Transfers>().size() == 1);
  CHECK(images_since(before) == 0);
  CHECK(read_trace(folder / "t.h5").of<Transfers>().size() == 1);
  CHECK(images_since(before) == 2);  // this one, and the one that was counted before
}

TEST_CASE("what a child hands over and is garbled is refused") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::string file = contents(folder / "t.h5");
  trace::DecodedFile handed{trace::decode(std::as_bytes(std::span(file)), "t.h5"), trace::Bytes(3)};
  const std::string sound = packed(handed);
  CHECK(packed(trace::unpacked(sound)) == sound);
  for (std::size_t length = 0; length < sound.size(); ++length)
    CHECK_THROWS_AS(trace::unpacked(sound.substr(0, length)), trace::FormatError);
  CHECK_THROWS_AS(trace::unpacked(sound + '\0'), trace::FormatError);
  const auto refused = [&](auto change) {
    trace::DecodedFile worse = handed;
    change(worse.contents.runs[0].of<Transfers>()[0]);
    CHECK_THROWS_AS(trace::unpacked(packed(worse)), trace::FormatError);
  };
  refused([](TransferSeries& series) { series.question.memory = static_cast<Memory>(5); });
  refused([](TransferSeries& series) { series.question.memory = static_cast<Memory>(-1); });
  refused([](TransferSeries& series) { series.visits[2].first_sample = 7; });
  refused([](TransferSeries& series) { series.samples.pop_back(); });
}

TEST_CASE("many traces are read by several processes, in order, and one that crashes costs one file") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::vector<std::filesystem::path> paths(40, folder / "t.h5");
  std::size_t number = 0;  // of the file within its process
  const auto digest = [&](const Trace& trace, std::span<const std::byte> bytes) {
    ++number;
    if (number == 3) raise(SIGSEGV);
    return std::to_string(trace.of<Transfers>().size()) + std::string(bytes.size(), 'x');
  };
  for (const unsigned processes : {1u, 3u}) {
    CAPTURE(processes);
    std::size_t told = 0;
    const auto all = read_many(paths, digest, processes, [&](std::size_t done) { told = done; });
    REQUIRE(all.size() == paths.size());
    CHECK(told == paths.size());
    std::size_t crashed = 0;
    for (const ReadDigest& one : all) {
      if (one.error.empty()) CHECK(one.bytes == "1" + std::string(std::filesystem::file_size(paths[0]), 'x'));
      else CHECK(one.error == "is damaged: HDF5 fails on it (Segmentation fault)");
      crashed += !one.error.empty();
    }
    // With one process every third file; with three the last of them may not come to its third.
    CHECK(crashed >= 11);
    CHECK(crashed <= 13);
  }
}

TEST_CASE("many readers where few descriptors are allowed: fewer of them, and every file is read") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::vector<std::filesystem::path> paths(40, folder / "t.h5");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{20, 20};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(9);
    const auto all = read_many(
        paths, [](const Trace& trace, auto) { return trace.root.hostname; }, 64);
    const bool are_read = std::ranges::all_of(all, [](const ReadDigest& one) { return one.error.empty(); });
    _exit(are_read && all.size() == paths.size() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("of many files those that are no traces are named with the reason") {
  const ScratchFolder folder;
  make_trace(folder / "b.h5");
  const auto all = read_many(
      std::vector<std::filesystem::path>{folder / "a.h5", folder / "b.h5"},
      [](const Trace& trace, auto) { return trace.root.hostname + "!"; }, 2);
  CHECK(all[0].bytes.empty());
  CHECK(all[0].error.starts_with("there is no such file"));
  CHECK(all[1].bytes.ends_with("!"));
  CHECK(all[1].error.empty());
  CHECK(read_many(
            {}, [](const Trace&, auto) { return std::string(); }, 2)
            .empty());
}

TEST_CASE("a sound trace is sound with any of the standard descriptors closed") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  for (unsigned closed = 0; closed < 8; ++closed) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int fd = 0; fd < 3; ++fd)
        if (closed & 1u << fd) close(fd);
      try {
        _exit(read_trace(folder / "t.h5", Guard::child).of<Transfers>().size() == 1 ? 0 : 2);
      } catch (...) {
        _exit(1);
      }
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CAPTURE(closed);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace trace_faults_test
