// What goes into a trace comes out of it, every column and word.
#include <doctest/doctest.h>

#include <cmath>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"

using namespace npgpu;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("root and provenance") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.version_major == 2);
  CHECK(trace.version_minor == 0);
  CHECK(trace.root.run_uuid == "first");
  CHECK(trace.root.tool_version == "0.1.0");
  CHECK(trace.root.git_commit == "abc123");
  CHECK(trace.root.argv == "npgpu transfer --device host");
  CHECK(trace.root.start_time_utc == "2026-11-21T06:19:25Z");
  CHECK(trace.root.hostname == "node17");
  CHECK(trace.root.plan == "copies");
  CHECK(trace.root.complete);
  CHECK(trace.provenance == made_provenance());  // the facts in the order in which they were given
  CHECK(folder.names() == std::vector<std::string>{"t.h5"});
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
    const std::size_t series = writer.begin<Transfers>(header_of());
    add(writer, series, 8, 5);
    writer.add<Transfers>(series, point, samples);
    CHECK(writer.has<Transfers>(series, {8}));
    CHECK_FALSE(writer.has<Transfers>(series, {9}));
    writer.finish();
  }
  const TransferSeries series = read_trace(folder / "t.h5").of<Transfers>().at(0);
  REQUIRE(series.points.size() == 2);
  REQUIRE(series.samples.size() == 7);
  const TransferPoint& got = series.points[1];
  CHECK(got.axes.bytes == 4096);
  CHECK(got.first_sample == 5);
  CHECK(got.samples == 2);
  CHECK(got.stop == Stop::converged);
  CHECK(got.wall_us == 1234.5);
  CHECK(got.telemetry.sm_clock_mhz == 1980.5);
  CHECK(got.telemetry.memory_clock_mhz == 2619);
  CHECK(got.telemetry.power_w == 412.5);
  CHECK(got.telemetry.temperature_c == 61);
  CHECK(got.telemetry.throttle_reasons == 0x24);
  CHECK(series.samples[5] == TransferSample{1, 8, 1, 0, 12345678901234567u, 0.125, 2.25});
  CHECK(series.samples[0].point == 0);
  CHECK(std::isnan(series.samples[0].device_us));
  CHECK(std::isnan(series.points[0].telemetry.power_w));
}

TEST_CASE("two series written in turns") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t a = writer.begin<Transfers>(header_of(Direction::h2d));
    const std::size_t b = writer.begin<Transfers>(header_of(Direction::d2h));
    for (std::uint64_t bytes = 1; bytes <= 300; ++bytes) {  // more than a chunk
      add(writer, a, bytes, 1);
      add(writer, b, 1000 + bytes, 2);
    }
    writer.set_error<Transfers>(a, "no good");
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.of<Transfers>().size() == 2);
  CHECK(trace.of<Transfers>()[0].error == "no good");
  CHECK(trace.of<Transfers>()[1].error == "");
  for (std::size_t i = 0; i < 300; ++i) {
    CHECK(trace.of<Transfers>()[0].points[i].axes.bytes == i + 1);
    CHECK(trace.of<Transfers>()[1].points[i].axes.bytes == i + 1001);
    CHECK(trace.of<Transfers>()[1].points[i].first_sample == 2 * i);
    CHECK(trace.of<Transfers>()[1].samples[2 * i + 1].host_us == static_cast<double>(i) + 1001.5);
  }
}

TEST_CASE("the same question asked twice in one run is two series") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  CHECK(writer.begin<Transfers>(header_of()) == 0);
  CHECK(writer.begin<Transfers>(header_of()) == 1);
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
    trace::change(file, "schema_version", std::string("2.7"));
    trace::put(file, "mood", std::string("good"));
    const trace::Handle more(H5Gcreate2(file, "/weather", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const trace::Handle aside(H5Gcreate2(file, "/transfers/notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
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
    H5Ldelete(file, "/transfers/0000/samples", H5P_DEFAULT);
    const hsize_t count = 9;
    const trace::Handle space(H5Screate_simple(1, &count, nullptr));
    const trace::Handle table(
        H5Dcreate2(file, "/transfers/0000/samples", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Dwrite(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbered.data()) >= 0);
  });
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.version_minor == 7);
  REQUIRE(trace.of<Transfers>().size() == 1);
  CHECK(trace.of<Transfers>()[0].samples[8] == TransferSample{2, 0, 0, 1, 10, 2.5, 3.5});
}
