// Which places a trace may be written to, and that nothing there is lost.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made_trace.hpp"

namespace trace_output_test {

using namespace npgpu;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

Said refused(const fs::path& path, IfExists how = IfExists::refuse) {
  const Said said = error_of([&] { TraceWriter(path, how, root_of("x"), {}); });
  CHECK(said.kind == ErrorKind::usage);
  return said;
}

}  // namespace

TEST_CASE("an existing trace is refused, and the sentence says what would help") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::string before = contents(folder / "t.h5");
  const Said said = refused(folder / "t.h5");
  CHECK(said.has("t.h5"));
  CHECK(said.has("--force"));
  CHECK(said.has("--resume"));
  CHECK(contents(folder / "t.h5") == before);
  CHECK(folder.names() == Names{"t.h5"});
}

TEST_CASE("a replaced trace is there until the first checkpoint") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  {
    TraceWriter writer(folder / "t.h5", IfExists::replace, root_of("second"), {});
    add(writer, writer.begin<Transfers>(header_of()), 7);
    CHECK(read_trace(folder / "t.h5").root.run_uuid == "first");
  }
  CHECK(read_trace(folder / "t.h5").root.run_uuid == "first");
  {
    TraceWriter writer(folder / "t.h5", IfExists::replace, root_of("second"), {});
    writer.checkpoint();
  }
  CHECK(read_trace(folder / "t.h5").root.run_uuid == "second");
}

TEST_CASE("something that is no trace can be replaced too") {
  const ScratchFolder folder;
  write(folder / "t.h5", "a letter");
  TraceWriter(folder / "t.h5", IfExists::replace, root_of("x"), {}).finish();
  CHECK(read_trace(folder / "t.h5").root.run_uuid == "x");
}

TEST_CASE("nothing is created before the first checkpoint but the lock, and it goes") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    writer.begin<Transfers>(header_of());
    CHECK(folder.names() == Names{"t.h5.lock"});
    writer.checkpoint();
    CHECK(folder.names() == Names{"t.h5", "t.h5.lock"});
  }
  CHECK(folder.names() == Names{"t.h5"});
}

TEST_CASE("what a killed run left is removed at the start, and what others call .tmp is left alone") {
  const ScratchFolder folder;
  write(folder / ".t.h5.npgpu-tmp", "half a trace");
  write(folder / "t.h5.tmp", "a letter");
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    CHECK(folder.names() == Names{"t.h5.lock", "t.h5.tmp"});
    writer.finish();
  }
  CHECK(contents(folder / "t.h5.tmp") == "a letter");
}

TEST_CASE("places that cannot be") {
  const ScratchFolder folder;
  CHECK(refused("").has("file name"));
  CHECK(refused(folder.path()).has("is a folder"));
  CHECK(refused(folder.path() / "").has("is a folder"));
  CHECK(refused(folder / "new/").has("is a folder"));
  CHECK(refused(folder.path(), IfExists::replace).has("is a folder"));
  CHECK(refused(folder / "missing/t.h5").has((folder / "missing").string() + " does not exist"));
  write(folder / "file", "");
  CHECK(refused(folder / "file/t.h5").has("is not a folder"));
  CHECK(refused(folder / std::string(300, 'n').c_str()).has("too long"));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(refused(folder / "pipe", IfExists::replace).has("not a plain file"));
  CHECK(refused("/dev/null", IfExists::replace).has("not a plain file"));
  CHECK(folder.names() == Names{"file", "pipe"});
}

TEST_CASE("a folder, or a trace, that may not be written") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  if (geteuid() == 0) {
    // Root may write everywhere, but not into /proc.
    CHECK(refused("/proc/t.h5").has("/proc"));
    MESSAGE("the rest is skipped: root may write anywhere");
    return;
  }
  REQUIRE(chmod((folder / "t.h5").c_str(), 0444) == 0);
  CHECK(refused(folder / "t.h5", IfExists::resume).has("write-protected"));
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  CHECK(refused(folder / "new.h5").has("Permission denied"));
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
}

TEST_CASE("a symbolic link stays one, and its target becomes the trace") {
  const ScratchFolder folder;
  make_trace(folder / "real.h5");
  fs::create_symlink("real.h5", folder / "link.h5");
  {
    TraceWriter writer(folder / "link.h5", IfExists::resume, root_of("second"), {});
    CHECK(refused(folder / "real.h5", IfExists::resume).has("is being written"));
    add(writer, writer.begin<Transfers>(header_of()), 8);
    writer.finish();
  }
  CHECK(fs::is_symlink(folder / "link.h5"));
  CHECK(read_trace(folder / "real.h5").of<Transfers>()[0].visits.size() == 4);
  CHECK(folder.names() == Names{"link.h5", "real.h5"});
}

TEST_CASE("a symbolic link to nothing yet stays one, and what it names becomes the trace") {
  const ScratchFolder folder;
  fs::create_directory(folder / "deep");
  fs::create_symlink("deep/real.h5", folder / "link.h5");
  fs::create_symlink("link.h5", folder / "second.h5");
  TraceWriter(folder / "second.h5", IfExists::refuse, root_of("x"), {}).finish();
  CHECK(fs::is_symlink(folder / "link.h5"));
  CHECK(fs::is_symlink(folder / "second.h5"));
  CHECK(read_trace(folder / "deep/real.h5").root.run_uuid == "x");
  fs::create_symlink("missing/real.h5", folder / "lost.h5");
  CHECK(refused(folder / "lost.h5").has("missing does not exist"));
  fs::create_symlink("loop.h5", folder / "loop.h5");
  CHECK(refused(folder / "loop.h5").has("without end"));
}

TEST_CASE("a folder that is deleted during the run: what was saved is not called intact") {
  const ScratchFolder folder;
  fs::create_directory(folder / "gone");
  TraceWriter writer(folder / "gone/t.h5", IfExists::refuse, root_of("x"), {});
  writer.checkpoint();
  fs::remove_all(folder / "gone");
  const Said said = error_of([&] { writer.finish(); });
  CHECK(said.kind == ErrorKind::failed);
  CHECK(said.has("nothing is saved there"));
  CHECK_FALSE(said.has("intact"));
}

TEST_CASE("a replaced trace keeps its permissions, whatever the umask") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  REQUIRE(chmod((folder / "t.h5").c_str(), 0664) == 0);
  const mode_t before = umask(0077);
  TraceWriter(folder / "t.h5", IfExists::replace, root_of("x"), {}).finish();
  TraceWriter(folder / "private.h5", IfExists::refuse, root_of("x"), {}).finish();
  umask(before);
  const auto bits = [&](const char* name) { return static_cast<unsigned>(fs::status(folder / name).permissions()); };
  CHECK(bits("t.h5") == 0664u);
  CHECK(bits("private.h5") == 0600u);
}

TEST_CASE("a relative path means the folder of the start, even if the program changes it") {
  const ScratchFolder folder;
  const fs::path home = fs::current_path();
  fs::current_path(folder.path());
  {
    TraceWriter writer("t.h5", IfExists::refuse, root_of("x"), {});
    fs::current_path("/");
    writer.finish();
  }
  fs::current_path(home);
  CHECK(folder.names() == Names{"t.h5"});
}

TEST_CASE("a reader that has the file open keeps the version it opened") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const std::size_t series = writer.begin<Transfers>(header_of());
  add(writer, series, 1);
  writer.checkpoint();
  const std::string first = contents(folder / "t.h5");
  std::ifstream open(folder / "t.h5", std::ios::binary);
  add(writer, series, 2);
  writer.checkpoint();
  CHECK(std::string(std::istreambuf_iterator<char>(open), {}) == first);
  CHECK(read_trace(folder / "t.h5").of<Transfers>()[0].visits.size() ==
        2);  // and one that opens it now has the new one
}

}  // namespace trace_output_test
