// A resumed trace goes on where it stopped.
#include <doctest/doctest.h>

#include "made_trace.hpp"

namespace trace_resume_test {

using namespace npgpu;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("the same question goes on in its series, another one gets its own") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    CHECK(series == 0);
    CHECK(writer.has<Transfers>(series, {4}, 0));
    CHECK_FALSE(writer.has<Transfers>(series, {8}, 0));
    add(writer, series, 8, 2);
    TransferSeries other = header_of();
    other.schedule = "adaptive";
    CHECK(writer.begin<Transfers>(other) == 1);
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.run_uuid == "first");
  REQUIRE(trace.of<Transfers>().size() == 2);
  const TransferSeries& series = trace.of<Transfers>()[0];
  CHECK(sizes_of(series) == Sizes{1, 2, 4, 8});
  CHECK(series.visits[3].first_sample == 9);
  CHECK(series.samples.size() == 11);
  CHECK(series.samples[10].visit == 3);
  CHECK(series.samples[10].host_us == 8.5);
  CHECK(series.samples[8].host_us == 5.0);  // what was there before
}

TEST_CASE("a point is visited once in each round, and a resumed trace knows in which it was") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    add(writer, series, 4, 3, 0);
    CHECK(writer.has<Transfers>(series, {4}, 0));
    CHECK_FALSE(writer.has<Transfers>(series, {4}, 1));
    add(writer, series, 4, 3, 2);
    add(writer, series, 1, 3, 2);
    writer.checkpoint();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    CHECK(writer.has<Transfers>(series, {4}, 0));
    CHECK_FALSE(writer.has<Transfers>(series, {4}, 1));
    CHECK(writer.has<Transfers>(series, {4}, 2));
    CHECK_FALSE(writer.has<Transfers>(series, {1}, 0));
    CHECK(writer.has<Transfers>(series, {1}, 2));
    CHECK(writer.axes<Transfers>(series) == std::vector<TransferSize>{{1}, {4}});  // each once
    add(writer, series, 4, 3, 1);
    CHECK(writer.has<Transfers>(series, {4}, 1));
    writer.finish();
  }
  const TransferSeries series = read_trace(folder / "t.h5").of<Transfers>().at(0);
  CHECK(sizes_of(series) == Sizes{4, 4, 1, 4});
  CHECK(points_of(series).size() == 2);
}

TEST_CASE("a resumed trace keeps the first run's seed, and the next one's beside it") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  TraceRoot root = root_of("second");
  root.seed = 78;
  TraceWriter(folder / "t.h5", IfExists::resume, root, {}).finish();
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.seed == 77);
  const auto& [group, facts] = trace.provenance.back();
  CHECK(group == "resume_1");
  CHECK(std::ranges::find(facts, std::pair<std::string, Fact>("seed", std::int64_t{78})) != facts.end());
}

TEST_CASE("two equal series are found again as two") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    add(writer, writer.begin<Transfers>(header_of()), 1);
    add(writer, writer.begin<Transfers>(header_of()), 2);
    writer.checkpoint();
  }
  TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
  CHECK(writer.begin<Transfers>(header_of()) == 0);
  CHECK(writer.begin<Transfers>(header_of()) == 1);
  CHECK(writer.begin<Transfers>(header_of()) == 2);
  CHECK(writer.has<Transfers>(1, {2}, 0));
  CHECK_FALSE(writer.has<Transfers>(1, {1}, 0));
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

TEST_CASE("a series's error is forgotten when it is tried again, another's is not") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    writer.set_error<Transfers>(writer.begin<Transfers>(header_of(Direction::h2d)), {"lost", Failure::lost});
    writer.set_error<Transfers>(writer.begin<Transfers>(header_of(Direction::d2h)), {"lost too", Failure::lost});
    writer.checkpoint();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
    writer.begin<Transfers>(header_of(Direction::h2d));
    writer.checkpoint();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.of<Transfers>()[0].error == "");
  CHECK(trace.of<Transfers>()[1].error == "lost too");
  CHECK(trace.of<Transfers>()[0].failure == Failure::none);
  CHECK(trace.of<Transfers>()[1].failure == Failure::lost);
}

TEST_CASE("of a trace that does not say what kind of error it was, wrong results are known by the words") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    writer.set_error<Transfers>(writer.begin<Transfers>(header_of(Direction::h2d)),
                                {"wrong at 8 B: byte 3", Failure::wrong});
    writer.set_error<Transfers>(writer.begin<Transfers>(header_of(Direction::d2h)), {"at 8 B: gone", Failure::lost});
    writer.finish();
  }
  doctor(folder / "t.h5", [](hid_t file) {
    for (const char* series : {"transfers/0000", "transfers/0001"})
      for (const char* attribute : {"failure", "failed_device"})
        REQUIRE(H5Adelete_by_name(file, series, attribute, H5P_DEFAULT) >= 0);
  });
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.of<Transfers>()[0].failure == Failure::wrong);
  CHECK(trace.of<Transfers>()[1].failure == Failure::failed);
  {  // and it can be continued
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
    writer.begin<Transfers>(header_of(Direction::h2d));
    writer.finish();
  }
  CHECK(read_trace(folder / "t.h5").of<Transfers>()[0].failure == Failure::none);
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
    const std::size_t series = writer.begin<Transfers>(header_of());
    for (std::uint64_t bytes = from; bytes < to; ++bytes) {
      add(writer, series, bytes, 10);
      writer.checkpoint();
    }
    writer.finish();
  };
  run("once.h5", 1, 101);
  for (std::uint64_t i = 0; i < 10; ++i) run("often.h5", 1 + 10 * i, 11 + 10 * i);
  const auto once = std::filesystem::file_size(folder / "once.h5");
  const auto often = std::filesystem::file_size(folder / "often.h5");
  CHECK(sizes_of(read_trace(folder / "often.h5").of<Transfers>()[0]) ==
        sizes_of(read_trace(folder / "once.h5").of<Transfers>()[0]));
  CHECK(often < once + 10 * 8192);
}

namespace {

// What resuming make_trace()'s trace says to a run with this root and header.
Said resumed(IfExists how, const std::function<void(TraceRoot&, TransferSeries&)>& change) {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::string before = contents(folder / "t.h5");
  TraceRoot root = root_of("second");
  TransferSeries header = header_of();
  change(root, header);
  const Said said = error_of([&] { TraceWriter(folder / "t.h5", how, root, {}).begin<Transfers>(header); });
  CHECK(said.kind == ErrorKind::usage);
  CHECK(contents(folder / "t.h5") == before);
  return said;
}

}  // namespace

TEST_CASE("a trace of another host is refused, also when a batch system requeued the run") {
  for (const IfExists how : {IfExists::resume, IfExists::append})
    CHECK(resumed(how, [](TraceRoot& root, TransferSeries&) {
            root.hostname = "node18";
          }).has("was measured on node17, and this is node18"));
}

TEST_CASE("a writer has the trace that it continues, as it was, once") {
  for (const Guard guard : {Guard::none, Guard::child}) {
    const ScratchFolder folder;
    make_trace(folder / "t.h5");
    const Trace before = read_trace(folder / "t.h5");
    TraceWriter writer(folder / "t.h5", IfExists::append, root_of("second"), {}, guard);
    add(writer, writer.begin<Transfers>(header_of()), 8);
    const auto continued = writer.take_continued();
    REQUIRE(continued.has_value());
    CHECK(continued->root.run_uuid == before.root.run_uuid);
    REQUIRE(continued->of<Transfers>().size() == 1);
    CHECK(continued->of<Transfers>()[0].visits.size() == before.of<Transfers>()[0].visits.size());
    CHECK(continued->of<Transfers>()[0].samples.size() == before.of<Transfers>()[0].samples.size());
    CHECK_FALSE(writer.take_continued().has_value());
    CHECK_FALSE(TraceWriter(folder / "new.h5", IfExists::resume, root_of("first"), {}).take_continued().has_value());
  }
}

TEST_CASE("another plan is refused, and appended only if that is wanted") {
  const auto another = [](TraceRoot& root, TransferSeries&) { root.plan = "probes"; };
  const Said said = resumed(IfExists::resume, another);
  CHECK(said.has("another plan"));
  CHECK(said.has("npgpu transfer --device host"));  // what began it
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  TraceRoot root = root_of("second");
  root.plan = "probes";
  TraceWriter(folder / "t.h5", IfExists::append, root, {}).finish();
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.plan == "copies");
  const auto& [group, facts] = trace.provenance.back();
  CHECK(group == "resume_1");
  CHECK(std::find(facts.begin(), facts.end(), std::pair<std::string, Fact>("plan", std::string("probes"))) !=
        facts.end());
}

TEST_CASE("a device that is another one than the trace's is refused, whatever is measured on it") {
  const auto with_uuid = [](TraceRoot&, TransferSeries& series) {
    series.device_uuid = "GPU-2";
    series.schedule = "adaptive";
  };
  CHECK(resumed(IfExists::resume, with_uuid).has("holds measurements of cuda:0 (Test GPU GPU-1)"));
  CHECK(resumed(IfExists::append, with_uuid).has("another device (Test GPU GPU-2)"));
  CHECK(resumed(IfExists::resume, [](TraceRoot&, TransferSeries& series) {
          series.device_name = "Other GPU";
        }).has("another device (Other GPU GPU-1)"));
}

TEST_CASE("a real trace takes nothing simulated, and the reverse") {
  const auto simulated = [](TransferSeries& series) {
    series.question = case_on("simulated", "sim:h200");
    series.simulated = true;
    series.device_uuid.clear();
  };
  CHECK(resumed(IfExists::append, [&](TraceRoot& root, TransferSeries& series) {
          root.plan = "simulated copies";
          simulated(series);
        }).has("this run is simulated"));
  const ScratchFolder folder;
  {
    TransferSeries series = header_of();
    simulated(series);
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"), {});
    writer.begin<Transfers>(series);
    writer.checkpoint();
  }
  TraceRoot another = root_of("second");
  another.plan = "copies of hardware";
  CHECK(error_of([&] {
          TraceWriter(folder / "t.h5", IfExists::append, another, {}).begin<Transfers>(header_of());
        }).has("this run measures hardware"));
  // One plan may hold both: it was stopped between them.
  TraceWriter(folder / "t.h5", IfExists::resume, root_of("second"), {}).begin<Transfers>(header_of());
}

TEST_CASE("damage that reading survives does not crash the run that continues the trace") {
  each_damaged(20261122, [](const std::filesystem::path& path) {
    TraceWriter writer(path, IfExists::append, root_of("second"), {}, Guard::child);
    add(writer, writer.begin<Transfers>(header_of()), 8);
    writer.checkpoint();
    writer.finish();
    CHECK(read_trace(path).root.complete);  // what is written is sound, whatever it came from
  });
}

TEST_CASE("what is known at the end of a run is in its provenance, and a later run's is its own") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"),
                       {{"gpu0", {{"id", std::string("cuda:0")}}}});
    writer.note("gpu0_after", {{"pcie_replays", std::int64_t{1}}});
    writer.note("gpu0_after", {{"pcie_replays", std::int64_t{2}}});
    writer.finish();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    writer.note("gpu0_after", {{"pcie_replays", std::int64_t{5}}});
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  const auto replays = [&](const std::string& group) {
    for (const auto& [name, facts] : trace.provenance)
      if (name == group) return number_fact(facts, "pcie_replays");
    return not_measured;
  };
  CHECK(replays("gpu0_after") == 2);
  CHECK(replays("resume_1/gpu0_after") == 5);
}

}  // namespace trace_resume_test
