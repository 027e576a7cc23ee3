// A disk that fills up, and a limit on file sizes: one sentence, the last checkpoint intact, no temporary file, and a
// later save can succeed.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_trace.hpp"

namespace trace_full_disk_test {

using namespace npgpu;
using Names = std::vector<std::string>;

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

}  // namespace trace_full_disk_test
