// A child process that goes first.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "made_trace.hpp"
#include "netpipe/trace/decode.hpp"
#include "netpipe/trace/decoded_file.hpp"
#include "netpipe/trace/hdf5.hpp"

namespace guarded_read_test {

using namespace npgpu;

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

}  // namespace guarded_read_test
