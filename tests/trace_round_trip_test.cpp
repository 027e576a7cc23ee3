// What goes into a trace comes out of it, every column and word.
#include <doctest/doctest.h>

#include <cmath>

#include "made_trace.hpp"
#include "netpipe/trace/attributes.hpp"

using namespace npgpu;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("root and provenance") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.version_major == 1);
  CHECK(trace.version_minor == 3);
  CHECK(trace.root.run_uuid == "first");
  CHECK(trace.root.tool_version == "0.1.0");
  CHECK(trace.root.git_commit == "abc123");
  CHECK(trace.root.argv == "npgpu transfer --device host");
  CHECK(trace.root.start_time_utc == "2026-11-21T06:19:25Z");
  CHECK(trace.root.hostname == "node17");
  CHECK(trace.root.complete);
  CHECK(trace.provenance == made_provenance());  // the facts in the order in which they were given
  CHECK(folder.names() == std::vector<std::string>{"t.h5"});
}

TEST_CASE("every field of a sweep, none at its default") {
  TransferSeries header;
  header.question = {"cuMemcpy",
                     "cuda:3",
                     Pattern::duplex,
                     Direction::d2h,
                     Memory::write_combined,
                     true,
                     Timing::gated,
                     Cache::cold,
                     3,
                     5,
                     false};
  header.schedule = "adaptive";
  header.device_uuid = "GPU-7";
  header.device_name = "Ein Gerät";
  header.simulated = true;
  header.limit = {1.5e9, "a guess"};
  header.binding = "none";
  header.error = "lost halfway";
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    writer.begin_sweep(header);
    writer.checkpoint();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK_FALSE(trace.root.complete);
  REQUIRE(trace.of<Transfers>().size() == 1);
  const TransferSeries& sweep = trace.of<Transfers>()[0];
  CHECK(sweep.question == header.question);
  CHECK(sweep.schedule == "adaptive");
  CHECK(sweep.device_uuid == "GPU-7");
  CHECK(sweep.device_name == "Ein Gerät");
  CHECK(sweep.simulated);
  CHECK(sweep.limit.per_s == 1.5e9);
  CHECK(sweep.limit.source == "a guess");
  CHECK(sweep.binding == "none");
  CHECK(sweep.error == "lost halfway");
  CHECK(sweep.points.empty());
  CHECK(sweep.samples.empty());
}

TEST_CASE("points and samples, their indices set by the writer") {
  const ScratchFolder folder;
  TransferPoint point = point_of(4096);
  point.telemetry = {1980.5, 2619, 412.5, 61, 0x24};
  point.first_sample = 999;  // ignored
  std::vector<TransferSample> samples = samples_of(4096, 2);
  samples[0] = {77, 8, 1, 0, 12345678901234567u, 0.125, 2.25};
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t sweep = writer.begin_sweep(header_of());
    add(writer, sweep, 8, 5);
    writer.add_point(sweep, point, samples);
    CHECK(writer.has_point(sweep, 8));
    CHECK_FALSE(writer.has_point(sweep, 9));
    writer.finish();
  }
  const TransferSeries sweep = read_trace(folder / "t.h5").sweeps.at(0);
  REQUIRE(sweep.points.size() == 2);
  REQUIRE(sweep.samples.size() == 7);
  const TransferPoint& got = sweep.points[1];
  CHECK(got.bytes == 4096);
  CHECK(got.first_sample == 5);
  CHECK(got.samples == 2);
  CHECK(got.stop == Stop::converged);
  CHECK(got.wall_us == 1234.5);
  CHECK(got.telemetry.sm_clock_mhz == 1980.5);
  CHECK(got.telemetry.memory_clock_mhz == 2619);
  CHECK(got.telemetry.power_w == 412.5);
  CHECK(got.telemetry.temperature_c == 61);
  CHECK(got.telemetry.throttle_reasons == 0x24);
  CHECK(sweep.samples[5] == TransferSample{1, 8, 1, 0, 12345678901234567u, 0.125, 2.25});
  CHECK(sweep.samples[0].point == 0);
  CHECK(std::isnan(sweep.samples[0].device_us));
  CHECK(std::isnan(sweep.points[0].telemetry.power_w));
}

TEST_CASE("two sweeps written in turns") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t a = writer.begin_sweep(header_of(Direction::h2d));
    const std::size_t b = writer.begin_sweep(header_of(Direction::d2h));
    for (std::uint64_t bytes = 1; bytes <= 300; ++bytes) {  // more than a chunk
      add(writer, a, bytes, 1);
      add(writer, b, 1000 + bytes, 2);
    }
    writer.set_sweep_error(a, "no good");
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.of<Transfers>().size() == 2);
  CHECK(trace.of<Transfers>()[0].error == "no good");
  CHECK(trace.of<Transfers>()[1].error == "");
  for (std::size_t i = 0; i < 300; ++i) {
    CHECK(trace.of<Transfers>()[0].points[i].bytes == i + 1);
    CHECK(trace.of<Transfers>()[1].points[i].bytes == i + 1001);
    CHECK(trace.of<Transfers>()[1].points[i].first_sample == 2 * i);
    CHECK(trace.of<Transfers>()[1].samples[2 * i + 1].host_us == static_cast<double>(i) + 1001.5);
  }
}

TEST_CASE("the same question asked twice in one run is two sweeps") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  CHECK(writer.begin_sweep(header_of()) == 0);
  CHECK(writer.begin_sweep(header_of()) == 1);
}

TEST_CASE("every word of every enumeration") {
  const ScratchFolder folder;
  std::vector<TransferCase> cases;
  for (const Pattern p : {Pattern::stream, Pattern::pingpong, Pattern::duplex}) cases.push_back({"m", "d", p});
  for (const Direction d : {Direction::h2d, Direction::d2h, Direction::d2d, Direction::h2h, Direction::peer})
    cases.push_back({"m", "d", Pattern::stream, d});
  for (const Memory m : {Memory::pageable, Memory::pinned, Memory::write_combined, Memory::managed, Memory::device})
    cases.push_back({"m", "d", Pattern::stream, Direction::h2d, m});
  for (const Timing t : {Timing::host, Timing::event, Timing::gated})
    cases.push_back({"m", "d", Pattern::stream, Direction::h2d, Memory::pinned, false, t});
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    for (const TransferCase& c : cases) {
      TransferSeries header = header_of();
      header.question = c;
      writer.begin_sweep(header);
    }
    writer.checkpoint();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.of<Transfers>().size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(trace.of<Transfers>()[i].question == cases[i]);
}

TEST_CASE("a point that every reader would refuse is not taken, and the rest is kept") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const std::size_t sweep = writer.begin_sweep(header_of());
  add(writer, sweep, 8);
  CHECK(error_of([&] { add(writer, sweep, 0); }).has("0 bytes"));
  CHECK(error_of([&] { writer.add_point(sweep, point_of(9), std::vector<TransferSample>(1)); }).has("0 repeats"));
  CHECK(error_of([&] { add(writer, 1, 8); }).has("sweep 1"));
  writer.finish();
  CHECK(sizes_of(read_trace(folder / "t.h5").sweeps[0]) == Sizes{8});
}

TEST_CASE("bytes that are no UTF-8 become U+FFFD, here as in a host's name or on a command line") {
  const ScratchFolder folder;
  TraceRoot root = root_of("x");
  root.hostname = "n\xff\xfeode";
  root.argv = std::string(200000, 'a');  // longer than an attribute may be, were it not a variable-length string
  TraceWriter(folder / "t.h5", IfExists::refuse, root, {{"environment", {{"empty", std::string()}}}}).finish();
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.hostname == "n\xef\xbf\xbd\xef\xbf\xbdode");
  CHECK(trace.root.argv.size() == 200000);
  CHECK(trace.provenance[0].second == Facts{{"empty", std::string()}});
}

TEST_CASE("what a later minor version may add is ignored: attributes, groups, columns, tables") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", [](hid_t file) {
    trace::change(file, "schema_version", std::string("1.7"));
    trace::put(file, "mood", std::string("good"));
    const trace::Handle more(H5Gcreate2(file, "/probes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const trace::Handle aside(H5Gcreate2(file, "/sweeps/notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    // The samples again, with two columns more, one of them in front, and wider types.
    struct Wide {
      double celsius;
      std::int64_t point, trial, lane, intact, repeats;
      float host_us, device_us;
      std::uint8_t luck;
    };
    const std::vector<Wide> rows(9, Wide{20, 0, 0, 0, 1, 10, 2.5f, 3.5f, 1});
    std::vector<Wide> numbered = rows;
    for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i].point = static_cast<std::int64_t>(i / 3);
    const trace::Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Wide)));
    H5Tinsert(type, "celsius", HOFFSET(Wide, celsius), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "lane", HOFFSET(Wide, lane), H5T_NATIVE_INT64);
    H5Tinsert(type, "trial", HOFFSET(Wide, trial), H5T_NATIVE_INT64);
    H5Tinsert(type, "point", HOFFSET(Wide, point), H5T_NATIVE_INT64);
    H5Tinsert(type, "intact", HOFFSET(Wide, intact), H5T_NATIVE_INT64);
    H5Tinsert(type, "repeats", HOFFSET(Wide, repeats), H5T_NATIVE_INT64);
    H5Tinsert(type, "host_us", HOFFSET(Wide, host_us), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "device_us", HOFFSET(Wide, device_us), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "luck", HOFFSET(Wide, luck), H5T_NATIVE_UINT8);
    H5Ldelete(file, "/sweeps/0000/samples", H5P_DEFAULT);
    const hsize_t count = 9;
    const trace::Handle space(H5Screate_simple(1, &count, nullptr));
    const trace::Handle table(
        H5Dcreate2(file, "/sweeps/0000/samples", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Dwrite(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbered.data()) >= 0);
  });
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.version_minor == 7);
  REQUIRE(trace.of<Transfers>().size() == 1);
  CHECK(trace.of<Transfers>()[0].samples[8] == TransferSample{2, 0, 0, 1, 10, 2.5, 3.5});
}
