// Files that are no sound trace: each is one sentence naming the file and what is wrong, and none is a crash.
#include <doctest/doctest.h>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"

namespace trace_damage_test {

using namespace npgpu;

namespace {

Said refused(const std::filesystem::path& path) {
  const Said said = error_of([&] { read_trace(path); });
  CHECK(said.kind == ErrorKind::usage);
  CHECK(said.text.rfind(path.string() + ": ", 0) == 0);
  return said;
}

// What is said of a sound trace after `change`.
Said doctored(const std::function<void(hid_t)>& change) {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", change);
  return refused(folder / "t.h5");
}

Said without(const char* where, const char* attribute) {
  return doctored([&](hid_t file) {
    const trace::Handle object(H5Oopen(file, where, H5P_DEFAULT));
    REQUIRE(H5Adelete(object, attribute) >= 0);
  });
}

Said with(const char* where, const char* attribute, const auto& value) {
  return doctored([&](hid_t file) {
    const trace::Handle object(H5Oopen(file, where, H5P_DEFAULT));
    REQUIRE(H5Adelete(object, attribute) >= 0);
    trace::put(object, attribute, value);
  });
}

const std::string text(const char* t) { return t; }

// Overwrites one row of a table.
template <class Row> Said with_row(const char* table, std::uint64_t row, const std::function<void(Row&)>& change) {
  return doctored([&](hid_t file) {
    const trace::Handle series(H5Gopen2(file, "/transfers/0000", H5P_DEFAULT));
    auto rows = trace::Table<Row>::open(series, "", table, UINT32_MAX).read();
    REQUIRE(H5Ldelete(series, table, H5P_DEFAULT) >= 0);
    change(rows.at(row));
    trace::Table<Row>::create(series, table).append(rows);
  });
}

// No row, and another type in the place of the disturber's name; -1: no such column.
Said with_disturber(hid_t instead) {
  return doctored([&](hid_t file) {
    const trace::Handle old(H5Dopen2(file, "/transfers/0000/visits", H5P_DEFAULT)), type(H5Dget_type(old));
    const trace::Handle row(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)));
    for (unsigned i = 0; i < static_cast<unsigned>(H5Tget_nmembers(type)); ++i) {
      char* const name = H5Tget_member_name(type, i);
      const trace::Handle was(H5Tget_member_type(type, i));
      const bool is_it = std::string(name) == "disturber";
      if (!is_it || instead >= 0) H5Tinsert(row, name, H5Tget_member_offset(type, i), is_it ? instead : hid_t{was});
      H5free_memory(name);
    }
    H5Ldelete(file, "/transfers/0000/visits", H5P_DEFAULT);
    const hsize_t none = 0;
    const trace::Handle space(H5Screate_simple(1, &none, nullptr));
    const trace::Handle table(
        H5Dcreate2(file, "/transfers/0000/visits", row, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(table >= 0);
  });
}

}  // namespace

TEST_CASE("no file, a folder, an empty file, text, a pipe") {
  const ScratchFolder folder;
  CHECK(refused(folder / "none.h5").has("no such file"));
  CHECK(refused(folder.path()).has("is a folder"));
  write(folder / "empty.h5", "");
  CHECK(refused(folder / "empty.h5").has("is empty"));
  write(folder / "text.h5", "this is no HDF5 file\n");
  CHECK(refused(folder / "text.h5").has("not an HDF5 file"));
  CHECK(refused("/dev/null").has("not a plain file"));
  write(folder / "huge.h5", "\x89HDF\r\n\x1a\n");
  std::filesystem::resize_file(folder / "huge.h5", 5ull << 30);
  CHECK(refused(folder / "huge.h5").has("too many for a trace"));
}

TEST_CASE("truncated at every length") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::string whole = contents(folder / "t.h5");
  int truncated = 0;
  for (std::size_t length = 1; length < whole.size(); length += length < 100 ? 1 : 97) {
    write(folder / "cut.h5", whole.substr(0, length));
    truncated += refused(folder / "cut.h5").has("is truncated");
  }
  write(folder / "cut.h5", whole.substr(0, whole.size() - 1));
  CHECK(refused(folder / "cut.h5").has("is truncated"));
  CHECK(truncated > 100);
}

TEST_CASE("HDF5, but not ours") {
  CHECK(without("/", "schema_name").has("not an npgpu trace"));
  CHECK(with("/", "schema_name", text("elsewhere")).has("schema_name is 'elsewhere'"));
}

TEST_CASE("versions") {
  CHECK(with("/", "schema_version", text("4.0")).has("has trace version 4.0, and this program reads 3.x"));
  for (const char* old : {"1.0", "1.3", "2.0"}) {
    const Said said = with("/", "schema_version", text(old));
    CHECK(said.has("has trace version " + std::string(old)));
    CHECK(said.has("measured again"));
  }
  for (const char* nonsense : {"", "3", "3.", ".0", "three.one", "3.0.0", "-1.0", "0.9", "99999999999.0", " 3.0"})
    CHECK(with("/", "schema_version", text(nonsense)).has("'schema_version'"));
  // A newer trace may lack everything that we know, and is still called newer.
  CHECK(doctored([](hid_t file) {
          trace::change(file, "schema_version", std::string("4.1"));
          H5Ldelete(file, "/transfers", H5P_DEFAULT);
          H5Adelete(file, "complete");
        }).has("a newer npgpu is needed"));
}

TEST_CASE("every attribute of the root is missed by its name") {
  for (const char* name : {"schema_version", "complete", "run_uuid", "tool_version", "git_commit", "argv", "plan",
                           "seed", "start_time_utc", "hostname"})
    CHECK(without("/", name).has("attribute '" + std::string(name) + "' of / is missing"));
}

TEST_CASE("attributes of the wrong type or value") {
  CHECK(with("/", "complete", text("yes")).has("'complete' of / is not one integer"));
  CHECK(with("/", "complete", std::int64_t{2}).has("'complete' of / is 2"));
  CHECK(with("/", "run_uuid", 1.5).has("'run_uuid' of / is not one text"));
  CHECK(with("/", "schema_name", 1.5).has("'schema_name'"));
  CHECK(with("/", "seed", text("lucky")).has("'seed' of / is not one integer"));
  CHECK(with("/transfers/0000", "limit_per_s", text("fast")).has("is not one floating-point number"));
  CHECK(with("/transfers/0000", "source_offset_bytes", 1.5).has("is not one integer"));
  CHECK(doctored([](hid_t file) {
          H5Adelete(file, "run_uuid");
          const hsize_t two = 2;
          const trace::Handle space(H5Screate_simple(1, &two, nullptr));
          const trace::Handle many(H5Acreate2(file, "run_uuid", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
        }).has("'run_uuid' of / is not one text"));
}

TEST_CASE("words that are none") {
  CHECK(with("/transfers/0000", "pattern", text("zigzag"))
            .has("attribute 'pattern' of /transfers/0000 is 'zigzag', none of stream, pingpong, duplex"));
  for (const char* name : {"direction", "memory", "timing", "cache"})
    CHECK(with("/transfers/0000", name, text("sideways")).has("is 'sideways', none of"));
}

TEST_CASE("groups and tables that are missing or something else") {
  const auto drop = [](const char* path) {
    return doctored([&](hid_t file) { REQUIRE(H5Ldelete(file, path, H5P_DEFAULT) >= 0); });
  };
  CHECK(drop("/provenance").has("group /provenance is missing"));
  CHECK(drop("/transfers/0000/visits").has("/transfers/0000/visits is missing"));
  CHECK(drop("/transfers/0000/samples").has("/transfers/0000/samples is missing"));
  CHECK(doctored([](hid_t file) {
          H5Lmove(file, "/transfers/0000", file, "/transfers/0001", H5P_DEFAULT, H5P_DEFAULT);
        }).has("group /transfers/0000 is missing"));
  CHECK(doctored([](hid_t file) {
          H5Ldelete(file, "/transfers/0000/visits", H5P_DEFAULT);
          const hsize_t nine = 9;
          const trace::Handle space(H5Screate_simple(1, &nine, nullptr));
          const trace::Handle numbers(
              H5Dcreate2(file, "/transfers/0000/visits", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        }).has("/transfers/0000/visits is not a table"));
}

TEST_CASE("columns that are missing or of another type") {
  const auto samples_with = [](const char* name, hid_t type) {
    return doctored([&](hid_t file) {
      H5Ldelete(file, "/transfers/0000/samples", H5P_DEFAULT);
      const trace::Handle row(H5Tcreate(H5T_COMPOUND, 64));
      std::size_t offset = 0;
      for (const char* column : {"visit", "trial", "lane", "intact", "repeats", "host_us", "device_us"}) {
        const bool real = std::string(column).find("_us") != std::string::npos;
        if (std::string(column) != name) H5Tinsert(row, column, offset, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT);
        else if (type >= 0) H5Tinsert(row, column, offset, type);
        offset += 8;
      }
      const trace::Handle space(H5Screate(H5S_SCALAR));
      const hsize_t none = 0;
      const trace::Handle rows(H5Screate_simple(1, &none, nullptr));
      const trace::Handle table(
          H5Dcreate2(file, "/transfers/0000/samples", row, rows, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    });
  };
  CHECK(samples_with("lane", -1).has("column 'lane' of /transfers/0000/samples is missing"));
  CHECK(samples_with("host_us", H5T_NATIVE_INT).has("column 'host_us' of /transfers/0000/samples is not of floating"));
  CHECK(with_disturber(-1).has("column 'disturber' of /transfers/0000/visits is missing"));
  CHECK(with_disturber(H5T_NATIVE_INT).has("column 'disturber' of /transfers/0000/visits is not of texts"));
  CHECK(
      samples_with("repeats", H5T_NATIVE_DOUBLE).has("column 'repeats' of /transfers/0000/samples is not of integers"));
}

TEST_CASE("rows that contradict each other") {
  using V = Visit<Transfers>;
  using S = TransferSample;
  CHECK(with_row<V>("visits", 2, [](V& v) {
          v.samples = 4;
        }).has("row 2 of /transfers/0000/visits has samples 6 + 4, and there are 9"));
  CHECK(with_row<V>("visits", 1, [](V& v) {
          v.first_sample = UINT64_MAX;
        }).has("row 1 of /transfers/0000/visits has samples"));
  CHECK(
      with_row<V>("visits", 1, [](V& v) { v.first_sample = 4; }).has("has sample 6, which says that it is of visit 2"));
  CHECK(with_row<V>("visits", 0, [](V& v) { v.stop = static_cast<Stop>(3); }).has("unknown stop code 3"));
  CHECK(with_row<V>("visits", 0, [](V& v) { v.stop = static_cast<Stop>(-1); }).has("unknown stop code -1"));
  CHECK(with_row<V>("visits", 0, [](V& v) { v.axes.bytes = 0; }).has("0 bytes"));
  CHECK(with_row<S>("samples", 4, [](S& s) { s.visit = 3; }).has("/transfers/0000"));
  CHECK(with_row<S>("samples", 4, [](S& s) { s.repeats = 0; }).has("row 4 of /transfers/0000/samples has 0 repeats"));
  CHECK(with_row<V>("visits", 0, [](V& v) { v.axes.bytes = 1ULL << 51; }).has("more than any memory"));
  CHECK(with_row<S>("samples", 4, [](S& s) { s.intact = 2; }).has("unknown intact code 2"));
  CHECK(with_row<S>("samples", 4, [](S& s) { s.lane = 5000; }).has("lane 5000"));
}

TEST_CASE("a table that claims more rows than the file can hold is not believed") {
  CHECK(doctored([](hid_t file) {
          const trace::Handle table(H5Dopen2(file, "/transfers/0000/samples", H5P_DEFAULT));
          const hsize_t many = hsize_t{1} << 40;
          REQUIRE(H5Dset_extent(table, &many) >= 0);
        }).has("claims 1099511627776 rows"));
}

TEST_CASE("random damage ends in a trace or in a sentence, never in a crash") {
  each_damaged(20261121, [](const std::filesystem::path& path) { read_trace(path, Guard::child); });
}

TEST_CASE("rows that are packed by a filter which is not here are refused by its name") {
  constexpr H5Z_filter_t id = 300;  // of those that are free for tests
  const H5Z_class2_t filter{
      H5Z_CLASS_T_VERS,
      id,
      1,
      1,
      "made-filter",
      nullptr,
      nullptr,
      [](unsigned, std::size_t, const unsigned*, std::size_t bytes, std::size_t*, void**) { return bytes; }};
  REQUIRE(H5Zregister(&filter) >= 0);
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", [&](hid_t file) {
    const char* const samples = "/transfers/0000/samples";
    const trace::Handle old(H5Dopen2(file, samples, H5P_DEFAULT)), type(H5Dget_type(old)),
        how(H5Pcreate(H5P_DATASET_CREATE));
    H5Ldelete(file, samples, H5P_DEFAULT);
    const hsize_t none = 0, most = H5S_UNLIMITED, chunk = 64;
    H5Pset_chunk(how, 1, &chunk);
    H5Pset_filter(how, id, H5Z_FLAG_MANDATORY, 0, nullptr);
    const trace::Handle space(H5Screate_simple(1, &none, &most));
    const trace::Handle table(H5Dcreate2(file, samples, type, space, H5P_DEFAULT, how, H5P_DEFAULT));
    REQUIRE(table >= 0);
  });
  REQUIRE(H5Zunregister(id) >= 0);
  CHECK(refused(folder / "t.h5").has("/transfers/0000/samples is packed by filter 300 (made-filter), which this HDF5"));
}

}  // namespace trace_damage_test
