// What goes into a trace comes out of it, every column and word.
#include <doctest/doctest.h>

#include <cmath>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"

namespace npgpu {

// A row as an older version wrote it, and as this one does.
struct OldRow {
  std::uint32_t shared = 0, also = 0;
};
struct NewRow {
  std::uint32_t shared = 0, added = 7, also = 0;
  bool operator==(const NewRow&) const = default;
};
template <>
inline constexpr auto fields_of<OldRow> = fields(field("shared", &OldRow::shared), field("also", &OldRow::also));
template <>
inline constexpr auto fields_of<NewRow> = fields(field("shared", &NewRow::shared),
                                                 optional_field("added", &NewRow::added), field("also", &NewRow::also));

}  // namespace npgpu

namespace trace_round_trip_test {

using namespace npgpu;

using Sizes = std::vector<std::uint64_t>;

TEST_CASE("root and provenance") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  for (const Guard guard : {Guard::none, Guard::child}) {
    CAPTURE(guard);
    const Trace trace = read_trace(folder / "t.h5", guard);
    CHECK(trace.version_major == 3);
    CHECK(trace.version_minor == 5);
    CHECK(trace.root.run_uuid == "first");
    CHECK(trace.root.tool_version == "0.1.0");
    CHECK(trace.root.git_commit == "abc123");
    CHECK(trace.root.argv == "npgpu transfer --device host");
    CHECK(trace.root.start_time_utc == "2026-11-21T06:19:25Z");
    CHECK(trace.root.hostname == "node17");
    CHECK(trace.root.plan == "copies");
    CHECK(trace.root.seed == 77);
    CHECK(trace.root.complete);
    CHECK(trace.provenance == made_provenance());  // the facts in the order in which they were given
  }
  CHECK(folder.names() == std::vector<std::string>{"t.h5"});
}

TEST_CASE("visits and samples, their indices set by the writer") {
  const ScratchFolder folder;
  Visit<Transfers> visit = visit_of(4096, 5);
  visit.telemetry = {1980.5, 2619, 412.5, 61, 0x24};
  visit.at_s = 12.25;
  visit.disturbed = static_cast<std::uint32_t>(Cause::host_busy) | static_cast<std::uint32_t>(Cause::link_busy);
  visit.disturber = ShortText("python3 (4711)");
  visit.first_sample = 999;  // ignored
  std::vector<TransferSample> samples = samples_of(4096, 2);
  samples[0] = {77, 8, 1, 0, 12345678901234567u, 0.125e13, 2.25e13};
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    add(writer, series, 8, 5);
    writer.add<Transfers>(series, visit, samples);
    CHECK(writer.has<Transfers>(series, {8}, 0));
    CHECK(writer.has<Transfers>(series, {4096}, 5));
    CHECK_FALSE(writer.has<Transfers>(series, {4096}, 0));
    CHECK_FALSE(writer.has<Transfers>(series, {9}, 0));
    writer.finish();
  }
  const TransferSeries series = read_trace(folder / "t.h5").of<Transfers>().at(0);
  REQUIRE(series.visits.size() == 2);
  REQUIRE(series.samples.size() == 7);
  const Visit<Transfers>& got = series.visits[1];
  CHECK(got.axes.bytes == 4096);
  CHECK(got.round == 5);
  CHECK(got.at_s == 12.25);
  CHECK(got.disturbed == 17);
  CHECK(std::string_view(got.disturber) == "python3 (4711)");
  CHECK(got.first_sample == 5);
  CHECK(got.samples == 2);
  CHECK(got.stop == Stop::converged);
  CHECK(got.wall_us == 1234.5);
  CHECK(got.telemetry.sm_clock_mhz == 1980.5);
  CHECK(got.telemetry.memory_clock_mhz == 2619);
  CHECK(got.telemetry.power_w == 412.5);
  CHECK(got.telemetry.temperature_c == 61);
  CHECK(got.telemetry.throttle_reasons == 0x24);
  CHECK(series.samples[5] == TransferSample{1, 8, 1, 0, 12345678901234567u, 0.125e13, 2.25e13});
  CHECK(series.samples[0].visit == 0);
  CHECK(std::isnan(series.samples[0].device_us));
  CHECK(std::isnan(series.visits[0].telemetry.power_w));
  CHECK(std::isnan(series.visits[0].at_s));
  CHECK(series.visits[0].disturbed == 0);
  CHECK(std::string_view(series.visits[0].disturber).empty());
}

TEST_CASE("a seed of 64 bits, and a disturber's name of 32 bytes and more") {
  const ScratchFolder folder;
  TraceRoot root = root_of("x");
  root.seed = UINT64_MAX;
  const std::string whole(32, 'a'), long_one = whole + "bc";
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root, {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    std::uint32_t round = 0;
    for (const std::string& name : {whole, long_one}) {
      Visit<Transfers> visit = visit_of(8, round++);
      visit.disturber = std::string_view(name);
      writer.add<Transfers>(series, visit, samples_of(8, 1));
    }
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.root.seed == UINT64_MAX);
  for (const Visit<Transfers>& visit : trace.of<Transfers>().at(0).visits)
    CHECK(std::string_view(visit.disturber) == whole);
}

TEST_CASE("the visits of a point are found again, in order of time, whatever came between them") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t series = writer.begin<Transfers>(header_of());
    for (std::uint32_t round = 0; round < 3; ++round)
      for (std::uint64_t i = 0; i < 3; ++i) add(writer, series, 1 + (i + round) % 3, 2, round);
    writer.finish();
  }
  const TransferSeries series = read_trace(folder / "t.h5").of<Transfers>().at(0);
  CHECK(sizes_of(series) == Sizes{1, 2, 3, 2, 3, 1, 3, 1, 2});
  const auto points = points_of(series);
  REQUIRE(points.size() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(points[i].axes.bytes == i + 1);
    REQUIRE(points[i].visits.size() == 3);
    for (std::uint32_t round = 0; round < 3; ++round) CHECK(points[i].visits[round]->round == round);
    for (const auto& values : values_of(series, points[i], [](const TransferSample& s) { return s.host_us; }))
      CHECK(values == std::vector{static_cast<double>(i) + 1, static_cast<double>(i) + 1.5});
  }
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
    writer.set_error<Transfers>(a, {"no good", Failure::failed});
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.of<Transfers>().size() == 2);
  CHECK(trace.of<Transfers>()[0].error == "no good");
  CHECK(trace.of<Transfers>()[1].error == "");
  for (std::size_t i = 0; i < 300; ++i) {
    CHECK(trace.of<Transfers>()[0].visits[i].axes.bytes == i + 1);
    CHECK(trace.of<Transfers>()[1].visits[i].axes.bytes == i + 1001);
    CHECK(trace.of<Transfers>()[1].visits[i].first_sample == 2 * i);
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
    trace::change(file, "schema_version", std::string("3.7"));
    trace::put(file, "mood", std::string("good"));
    const trace::Handle more(H5Gcreate2(file, "/weather", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const trace::Handle aside(H5Gcreate2(file, "/transfers/notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    // The samples again, with two columns more, one of them in front, and wider types.
    struct Wide {
      double celsius;
      std::int64_t visit, trial, lane, intact, repeats;
      float host_us, device_us;
      std::uint8_t luck;
    };
    const std::vector<Wide> rows(9, Wide{20, 0, 0, 0, 1, 10, 2.5f, 3.5f, 1});
    std::vector<Wide> numbered = rows;
    for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i].visit = static_cast<std::int64_t>(i / 3);
    const trace::Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Wide)));
    H5Tinsert(type, "celsius", HOFFSET(Wide, celsius), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "lane", HOFFSET(Wide, lane), H5T_NATIVE_INT64);
    H5Tinsert(type, "trial", HOFFSET(Wide, trial), H5T_NATIVE_INT64);
    H5Tinsert(type, "visit", HOFFSET(Wide, visit), H5T_NATIVE_INT64);
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

TEST_CASE("a column that an older table lacks is read as its default, and refuses what it cannot keep") {
  const trace::Handle how(H5Pcreate(H5P_FILE_ACCESS));
  REQUIRE(H5Pset_fapl_core(how, 1 << 16, false) >= 0);
  const trace::Handle file(H5Fcreate("in-memory.h5", H5F_ACC_TRUNC, H5P_DEFAULT, how));
  const OldRow old[] = {{1, 2}, {3, 4}};
  trace::Table<OldRow>::create(file, "rows").append(old);
  constexpr std::uint64_t unbounded = UINT32_MAX;
  auto table = trace::Table<NewRow>::open(file, "", "rows", unbounded);
  CHECK(table.read() == std::vector<NewRow>{{1, 7, 2}, {3, 7, 4}});

  const NewRow usual[] = {{5, 7, 6}}, other[] = {{8, 7, 9}, {8, 9, 10}};
  table.append(usual);
  CHECK(table.read() == std::vector<NewRow>{{1, 7, 2}, {3, 7, 4}, {5, 7, 6}});
  CHECK_THROWS_WITH_AS(table.append(other), doctest::Contains("no column 'added'"), trace::FormatError);
  CHECK(table.rows() == 3);
  // A column that is not optional must be there.
  CHECK_THROWS_WITH_AS(trace::Table<TransferSample>::open(file, "", "rows", unbounded), doctest::Contains("is missing"),
                       trace::FormatError);
}

}  // namespace trace_round_trip_test
