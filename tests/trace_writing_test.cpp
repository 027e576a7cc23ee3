// When and where a trace is written.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"
#include "netpipe/trace/writer.hpp"

namespace trace_writing_test {

using namespace npgpu;
using npgpu::Seconds;
using npgpu::trace::CheckpointPolicy;

// A trace holds what it needs itself: what leads elsewhere is refused by name, and nothing vanishes silently.

namespace {

Said doctored(const std::function<void(hid_t)>& change) {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", change);
  return error_of([&] { read_trace(folder / "t.h5"); });
}

}  // namespace

TEST_CASE("a series that is a link is refused, and does not vanish") {
  const auto external = [](hid_t file, const char* name) {
    REQUIRE(H5Lcreate_external("elsewhere.h5", "/transfers/0000", file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  };
  CHECK(doctored([&](hid_t file) { external(file, "/transfers/0001"); }).has("/transfers/0001 is a link"));
  CHECK(doctored([&](hid_t file) { external(file, "/provenance/gpu0"); }).has("/provenance/gpu0 is a link"));
  CHECK(doctored([](hid_t file) {
          REQUIRE(H5Lcreate_soft("/transfers/0000", file, "/transfers/0001", H5P_DEFAULT, H5P_DEFAULT) >= 0);
        }).has("/transfers/0001 is a link"));
  CHECK(doctored([&](hid_t file) {
          H5Ldelete(file, "/probes", H5P_DEFAULT);
          external(file, "/probes");
        }).has("/probes is a link"));
  CHECK(doctored([&](hid_t file) {
          H5Ldelete(file, "/transfers/0000/samples", H5P_DEFAULT);
          external(file, "/transfers/0000/samples");
        }).has("/transfers/0000/samples is a link"));
}

TEST_CASE("a series, or a table, that is something else is refused") {
  const auto number = [](hid_t file, const char* name) {
    const trace::Handle space(H5Screate(H5S_SCALAR));
    const trace::Handle made(H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(made >= 0);
  };
  CHECK(doctored([&](hid_t file) { number(file, "/transfers/0001"); }).has("/transfers/0001 is not a group"));
  CHECK(doctored([](hid_t file) {
          H5Ldelete(file, "/transfers/0000/visits", H5P_DEFAULT);
          trace::create_group(file, "/transfers/0000/visits");
        }).has("/transfers/0000/visits is not a table"));
}

TEST_CASE("a table whose rows lie in another file is refused, even if that is a named pipe") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", [&](hid_t file) {
    const trace::Handle old(H5Dopen2(file, "/transfers/0000/visits", H5P_DEFAULT));
    const trace::Handle type(H5Dget_type(old));
    H5Ldelete(file, "/transfers/0000/visits", H5P_DEFAULT);
    const hsize_t rows = 3;
    const trace::Handle space(H5Screate_simple(1, &rows, nullptr));
    const trace::Handle how(H5Pcreate(H5P_DATASET_CREATE));
    REQUIRE(H5Pset_external(how, (folder / "pipe").c_str(), 0, H5F_UNLIMITED) >= 0);
    const trace::Handle table(H5Dcreate2(file, "/transfers/0000/visits", type, space, H5P_DEFAULT, how, H5P_DEFAULT));
    REQUIRE(table >= 0);
  });
  CHECK(error_of([&] { read_trace(folder / "t.h5"); }).has("/transfers/0000/visits keeps its rows in another file"));
}

TEST_CASE("a named pipe in the place of a trace is refused at once") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error_of([&] { read_trace(folder / "pipe"); }).has("not a plain file"));
}

// Which places a trace may be written to, and that nothing there is lost.

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

// The promises of the policy, with numbers a reader can follow: saving costs at most 1 % of the time since the start,
// and nothing stays unsaved for more than 5 s.

namespace {
constexpr Seconds at(double s) { return Seconds{s}; }
constexpr Seconds ms(double t) { return Seconds{t * 1e-3}; }
}  // namespace

TEST_CASE("nothing to save is never due, the first addition always") {
  CheckpointPolicy policy(at(100));
  CHECK_FALSE(policy.due(at(1000), 1));
  policy.added(at(1000.001));
  CHECK(policy.due(at(1000.001), 50000));
  policy.saved(ms(1), 50000);
  CHECK_FALSE(policy.unsaved());
  CHECK_FALSE(policy.due(at(2000), 50000));
}

TEST_CASE("the next save waits until both together are 0.8 % of the time") {
  // One save cost 1 ms, the next will cost as much: 2 ms are 0.8 % of 250 ms.
  CheckpointPolicy policy(at(0));
  policy.added(ms(10));
  policy.saved(ms(1), 50000);
  policy.added(ms(20));
  CHECK_FALSE(policy.due(ms(249), 50000));
  CHECK(policy.due(ms(251), 50000));
}

TEST_CASE("the cost expected grows with the file") {
  // 1 ms for 50 kB is 2 ms for 100 kB: 1 + 2 ms are 0.8 % of 375 ms.
  CheckpointPolicy policy(at(0));
  policy.added(ms(10));
  policy.saved(ms(1), 50000);
  CHECK(policy.expected(50000) == ms(1));
  CHECK(policy.expected(100000) == ms(2));
  CHECK(policy.expected(25000) == ms(1));  // a file that shrank promises nothing
  policy.added(ms(20));
  CHECK_FALSE(policy.due(ms(374), 100000));
  CHECK(policy.due(ms(376), 100000));
}

TEST_CASE("one slow save moves the expectation by a third of what it was off") {
  CheckpointPolicy policy(at(0));
  policy.added(ms(10));
  policy.saved(ms(1), 1000);
  policy.added(ms(20));
  policy.saved(ms(11), 1000);
  CHECK(policy.expected(1000).count() == doctest::Approx(0.004));  // 0.7 * 1 ms + 0.3 * 11 ms
  CHECK(policy.spent().count() == doctest::Approx(0.012));
  CHECK(policy.saves() == 2);
}

TEST_CASE("nothing stays unsaved for 5 s, whatever a save costs") {
  // A save of 100 ms: 0.8 % would allow the second after 25 s.
  CheckpointPolicy policy(at(0));
  policy.added(at(0));
  policy.saved(ms(100), 1000);
  policy.added(at(1.0));
  policy.added(at(1.1));
  CHECK_FALSE(policy.due(at(5.8), 1000));
  CHECK(policy.due(at(5.95), 1000));  // the next addition may come 0.1 s later: that would be too late
}

TEST_CASE("slow points are saved one by one: the next would come too late") {
  CheckpointPolicy policy(at(0));
  policy.added(at(3));
  policy.saved(ms(100), 1000);
  policy.added(at(6));  // 3 s after the last: with the next one it is 3 s old
  CHECK_FALSE(policy.due(at(6), 1000));
  policy.added(at(9));
  CHECK(policy.due(at(9), 1000));
}

TEST_CASE("a save that takes a second is not repeated every five") {
  // Patience is 10 times the cost: 10 s.
  CheckpointPolicy policy(at(0));
  policy.added(at(0));
  policy.saved(at(1), 1000);
  policy.added(at(2));
  CHECK_FALSE(policy.due(at(8), 1000));
  CHECK(policy.due(at(12), 1000));
}

TEST_CASE("a run of an hour keeps both promises while its file grows") {
  // A point each 50 ms adds 500 bytes; a save costs 0.3 ms and 1 ms a megabyte. Played through to the end.
  CheckpointPolicy policy(at(0));
  double clock = 0, oldest = -1, longest = 0, bytes = 20000;
  while (clock < 3600) {
    clock += 0.05;
    bytes += 500;
    policy.added(at(clock));
    if (oldest < 0) oldest = clock;
    if (policy.due(at(clock), static_cast<std::uint64_t>(bytes))) {
      const double cost = 0.3e-3 + 1e-9 * bytes;
      clock += cost;
      policy.saved(at(cost), static_cast<std::uint64_t>(bytes));
      longest = std::max(longest, clock - oldest);
      oldest = -1;
    }
  }
  CHECK(bytes > 35e6);
  CHECK(policy.spent().count() < 0.009 * clock);
  CHECK(longest < 5.2);
  CHECK(policy.saves() > 700);
}

}  // namespace trace_writing_test
