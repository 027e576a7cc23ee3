// A resumed trace goes on where it stopped.
#include <doctest/doctest.h>

#include "made_trace.hpp"

using namespace npgpu;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("the same question goes on in its sweep, another one gets its own") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    const std::size_t sweep = writer.begin_sweep(header_of());
    CHECK(sweep == 0);
    CHECK(writer.has_point(sweep, 4));
    CHECK_FALSE(writer.has_point(sweep, 8));
    add(writer, sweep, 8, 2);
    TransferSeries other = header_of();
    other.schedule = "adaptive";
    CHECK(writer.begin_sweep(other) == 1);
    TransferSeries elsewhere = header_of();
    elsewhere.device_uuid = "GPU-2";
    CHECK(writer.begin_sweep(elsewhere) == 2);
    CHECK_FALSE(writer.has_point(2, 4));
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.run_uuid == "first");
  REQUIRE(trace.of<Transfers>().size() == 3);
  const TransferSeries& sweep = trace.of<Transfers>()[0];
  CHECK(sizes_of(sweep) == Sizes{1, 2, 4, 8});
  CHECK(sweep.points[3].first_sample == 9);
  CHECK(sweep.samples.size() == 11);
  CHECK(sweep.samples[10].point == 3);
  CHECK(sweep.samples[10].host_us == 8.5);
  CHECK(sweep.samples[8].host_us == 5.0);  // what was there before
}

TEST_CASE("two equal sweeps are found again as two") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    add(writer, writer.begin_sweep(header_of()), 1);
    add(writer, writer.begin_sweep(header_of()), 2);
    writer.checkpoint();
  }
  TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
  CHECK(writer.begin_sweep(header_of()) == 0);
  CHECK(writer.begin_sweep(header_of()) == 1);
  CHECK(writer.begin_sweep(header_of()) == 2);
  CHECK(writer.has_point(1, 2));
  CHECK_FALSE(writer.has_point(1, 1));
}

TEST_CASE("a resumed trace is not complete until it is finished again") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    CHECK(read_trace(folder / "t.h5").root.complete);  // nothing is touched before the first checkpoint
    writer.checkpoint();
    CHECK_FALSE(read_trace(folder / "t.h5").root.complete);
    writer.finish();
  }
  CHECK(read_trace(folder / "t.h5").root.complete);
}

TEST_CASE("a sweep's error is forgotten when it is tried again, another's is not") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    writer.set_sweep_error(writer.begin_sweep(header_of(Direction::h2d)), "lost");
    writer.set_sweep_error(writer.begin_sweep(header_of(Direction::d2h)), "lost too");
    writer.checkpoint();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
    writer.begin_sweep(header_of(Direction::h2d));
    writer.checkpoint();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.of<Transfers>()[0].error == "");
  CHECK(trace.of<Transfers>()[1].error == "lost too");
}

TEST_CASE("who resumed it is kept beside who began it") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  for (const char* uuid : {"second", "third"})
    TraceWriter(folder / "t.h5", IfExists::resume, root_of(uuid), {{"host", {{"cores", std::int64_t{16}}}}}).finish();
  const Trace trace = read_trace(folder / "t.h5");
  std::vector<std::string> groups;
  for (const auto& [group, facts] : trace.provenance) groups.push_back(group);
  CHECK(groups == std::vector<std::string>{"build", "host", "resume_1", "resume_1/host", "resume_2", "resume_2/host"});
  CHECK(trace.provenance[1] == made_provenance()[1]);
  CHECK(trace.provenance[4].second.front() == std::pair<std::string, Fact>("run_uuid", std::string("third")));
  CHECK(trace.provenance[5].second == Facts{{"cores", std::int64_t{16}}});
}

TEST_CASE("resume without a file begins one") {
  const ScratchFolder folder;
  TraceWriter(folder / "t.h5", IfExists::resume, root_of("x"), {}).finish();
  CHECK(read_trace(folder / "t.h5").root.run_uuid == "x");
}

TEST_CASE("resume of something else is refused and leaves it alone") {
  const ScratchFolder folder;
  write(folder / "t.h5", "a letter");
  const Said said = error_of([&] { TraceWriter(folder / "t.h5", IfExists::resume, root_of("x"), {}); });
  CHECK(said.kind == ErrorKind::usage);
  CHECK(said.has("t.h5: is not an HDF5 file"));
  CHECK(contents(folder / "t.h5") == "a letter");
  CHECK(folder.names() == std::vector<std::string>{"t.h5"});
}

TEST_CASE("a trace grows by what is added, whoever adds it") {
  // Ten resumes of ten points each are no larger than one run of a hundred, but for ten notes of who resumed it.
  const ScratchFolder folder;
  const auto run = [&](const char* name, std::uint64_t from, std::uint64_t to) {
    TraceWriter writer(folder / name, IfExists::resume, root_of("x"), {});
    const std::size_t sweep = writer.begin_sweep(header_of());
    for (std::uint64_t bytes = from; bytes < to; ++bytes) {
      add(writer, sweep, bytes, 10);
      writer.checkpoint();
    }
    writer.finish();
  };
  run("once.h5", 1, 101);
  for (std::uint64_t i = 0; i < 10; ++i) run("often.h5", 1 + 10 * i, 11 + 10 * i);
  const auto once = std::filesystem::file_size(folder / "once.h5");
  const auto often = std::filesystem::file_size(folder / "often.h5");
  CHECK(sizes_of(read_trace(folder / "often.h5").sweeps[0]) == sizes_of(read_trace(folder / "once.h5").sweeps[0]));
  CHECK(often < once + 10 * 8192);
}
