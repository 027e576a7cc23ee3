// How a trace is laid out in its file, packed, and spelled.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"

namespace trace_format_test {

using namespace npgpu;
using npgpu::trace::utf8;

// data/TRACE_FORMAT.md says what is in a trace: every attribute and column of the code, with its unit.

namespace {

std::string page() { return contents(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/TRACE_FORMAT.md"); }

// From "## <title>" to the next "## ".
std::string section(const std::string& title) {
  const std::string text = page();
  const std::size_t begin = text.find("\n## " + title);
  CAPTURE(title);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

// The line of a table that names `word` in backquotes in its first cell.
std::string line_of(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `") && line.substr(0, line.find(" |", 2)).find("`" + word + "`") != std::string::npos)
      return line;
  return {};
}

std::string type_word(trace::Column::Type type) {
  using enum trace::Column::Type;
  return type == i32    ? "int32"
         : type == u32  ? "uint32"
         : type == i64  ? "int64"
         : type == u64  ? "uint64"
         : type == flag ? "uint8"
         : type == text ? "char[32]"
                        : "float64";
}

}  // namespace

TEST_CASE("the page has every attribute of the root") {
  const std::string root = section("Root");
  const TraceRoot any{};
  visit_fields(any, [&](const FieldInfo& info, const auto&) {
    CAPTURE(info.name);
    CHECK_FALSE(line_of(root, std::string(info.name)).empty());
  });
  CHECK_FALSE(line_of(root, "complete").empty());
  CHECK(line_of(root, "schema_version").find(fmt::format("`{}.{}`", trace::version_major, trace::version_minor)) !=
        std::string::npos);
}

TEST_CASE("the page has every attribute and word of every kind") {
  const std::string all_kinds = section("What all kinds have");
  for_each_kind([&]<class K>() {
    CAPTURE(K::name);
    const std::string own = section(fmt::format("`/{}/NNNN`", K::name));
    const Series<K> any{};
    visit_fields(any, [&]<class T>(const FieldInfo& info, const T&) {
      CAPTURE(info.name);
      std::string line = line_of(own, std::string(info.name));
      if (line.empty()) line = line_of(all_kinds, std::string(info.name));
      CHECK_FALSE(line.empty());
      if constexpr (std::is_enum_v<T>)
        for (const std::string_view word : names_of<T>) {
          CAPTURE(word);
          CHECK(line.find(fmt::format("`{}`", word)) != std::string::npos);
        }
    });
  });
}

TEST_CASE("the page has every column of every kind, with its type, unit and codes") {
  const std::string all_kinds = section("What all kinds have");
  const auto check = [&](const std::string& own, const trace::Columns& columns) {
    for (const trace::Column& column : columns) {
      CAPTURE(column.name);
      std::string line = line_of(own, column.name);
      if (line.empty()) line = line_of(all_kinds, column.name);
      CHECK(line.find(fmt::format("| {} | {} |", type_word(column.type), column.unit)) != std::string::npos);
      CHECK(line.find(column.codes) != std::string::npos);
    }
  };
  for_each_kind([&]<class K>() {
    CAPTURE(K::name);
    const std::string own = section(fmt::format("`/{}/NNNN`", K::name));
    const std::size_t samples = own.find("**samples**"), visits = own.find("**visits**");
    REQUIRE(samples != std::string::npos);
    REQUIRE(visits < samples);
    check(own.substr(visits, samples - visits), trace::columns_of<Visit<K>>());
    check(own.substr(samples), trace::columns_of<typename K::Sample>());
  });
}

// A finished trace is compressed, one that goes on is not; what it holds is the same.

namespace {

int filters_of(const std::filesystem::path& path, const char* table) {
  int filters = -1;
  doctor(path, [&](hid_t file) {
    const trace::Handle dataset(H5Dopen2(file, table, H5P_DEFAULT));
    const trace::Handle how(H5Dget_create_plist(dataset));
    filters = H5Pget_nfilters(how);
  });
  return filters;
}

void add_many(TraceWriter& writer, std::size_t series, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t bytes = from; bytes < to; ++bytes) add(writer, series, bytes, 10);
}

}  // namespace

TEST_CASE("a finished trace is compressed, and holds the same rows") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), made_provenance());
  add_many(writer, writer.begin<Transfers>(header_of()), 1, 300);
  writer.checkpoint();
  CHECK(filters_of(folder / "t.h5", "/transfers/0000/samples") == 0);
  const auto plain = std::filesystem::file_size(folder / "t.h5");
  const Trace before = read_trace(folder / "t.h5");
  writer.finish();
  CHECK(filters_of(folder / "t.h5", "/transfers/0000/samples") == 2);
  CHECK(filters_of(folder / "t.h5", "/transfers/0000/visits") == 2);
  CHECK(std::filesystem::file_size(folder / "t.h5") < plain / 2);
  const Trace after = read_trace(folder / "t.h5");
  CHECK(after.root.complete);
  CHECK(after.provenance == before.provenance);
  const auto& a = before.of<Transfers>().at(0).samples;
  const auto& b = after.of<Transfers>().at(0).samples;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].host_us == b[i].host_us);
}

TEST_CASE("a compressed trace is resumed, and its checkpoints are plain again") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    add_many(writer, writer.begin<Transfers>(header_of()), 1, 100);
    writer.finish();
  }
  TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
  const std::size_t series = writer.begin<Transfers>(header_of());
  add_many(writer, series, 100, 200);
  writer.checkpoint();
  CHECK(filters_of(folder / "t.h5", "/transfers/0000/samples") == 0);
  writer.finish();
  CHECK(filters_of(folder / "t.h5", "/transfers/0000/samples") == 2);
  const Trace trace = read_trace(folder / "t.h5");
  const TransferSeries& got = trace.of<Transfers>().at(0);
  REQUIRE(got.visits.size() == 199);
  for (std::size_t i = 0; i < 199; ++i) {
    CHECK(got.visits[i].axes.bytes == i + 1);
    CHECK(got.samples[10 * i + 1].host_us == static_cast<double>(i) + 1.5);
  }
}

TEST_CASE("what only a later version knows survives a resume and a finish") {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  doctor(folder / "t.h5", [](hid_t file) {
    trace::put(file, "mood", std::string("good"));
    const trace::Handle series = trace::open_group(trace::open_group(file, "/", "transfers"), "/transfers", "0000");
    trace::put(series, "spin", 0.5);
    trace::put(trace::create_group(file, "weather"), "rain_mm", 2.5);
    trace::put(trace::create_group(series, "notes"), "by", std::string("hand"));
    H5Lcreate_soft("/weather", file, "climate", H5P_DEFAULT, H5P_DEFAULT);
    // A column of texts, whose bytes lie elsewhere in the file.
    const trace::Handle old(H5Dopen2(series, "visits", H5P_DEFAULT));
    const trace::Handle type(H5Dget_type(old)), text(H5Tcopy(H5T_C_S1));
    H5Tset_size(text, H5T_VARIABLE);
    const std::size_t bytes = H5Tget_size(type);
    std::vector<char> rows(3 * bytes), wide(3 * (bytes + sizeof(char*)));
    H5Dread(old, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data());
    const trace::Handle wider(H5Tcreate(H5T_COMPOUND, bytes + sizeof(char*)));
    for (int i = 0; i < H5Tget_nmembers(type); ++i) {
      const auto member = static_cast<unsigned>(i);
      char* const name = H5Tget_member_name(type, member);
      const trace::Handle of_member(H5Tget_member_type(type, member));
      H5Tinsert(wider, name, H5Tget_member_offset(type, member), of_member);
      H5free_memory(name);
    }
    H5Tinsert(wider, "remark", bytes, text);
    const char* const remark = "as it came";
    for (std::size_t i = 0; i < 3; ++i) {
      std::copy_n(rows.data() + i * bytes, bytes, wide.data() + i * (bytes + sizeof remark));
      std::copy_n(reinterpret_cast<const char*>(&remark), sizeof remark,
                  wide.data() + i * (bytes + sizeof remark) + bytes);
    }
    H5Ldelete(series, "visits", H5P_DEFAULT);
    const hsize_t three = 3;
    const trace::Handle space(H5Screate_simple(1, &three, nullptr));
    const trace::Handle table(H5Dcreate2(series, "visits", wider, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Dwrite(table, wider, H5S_ALL, H5S_ALL, H5P_DEFAULT, wide.data()) >= 0);
  });
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("y"), {});
    add(writer, writer.begin<Transfers>(header_of()), 8);
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(sizes_of(trace.of<Transfers>().at(0)) == std::vector<std::uint64_t>{1, 2, 4, 8});
  doctor(folder / "t.h5", [](hid_t file) {
    CHECK(trace::get_text(file, "/", "mood") == "good");
    CHECK(trace::get_real(trace::open_group(file, "/", "weather"), "/weather", "rain_mm") == 2.5);
    const trace::Handle climate(H5Gopen2(file, "climate", H5P_DEFAULT));
    CHECK(trace::has(climate, "rain_mm"));
    const trace::Handle series = trace::open_group(trace::open_group(file, "/", "transfers"), "/transfers", "0000");
    CHECK(trace::get_real(series, "", "spin") == 0.5);
    CHECK(trace::get_text(trace::open_group(series, "", "notes"), "", "by") == "hand");
    const trace::Handle visits(H5Dopen2(series, "visits", H5P_DEFAULT)), type(H5Dget_type(visits));
    const trace::Handle text(H5Tcopy(H5T_C_S1));
    H5Tset_size(text, H5T_VARIABLE);
    const trace::Handle remark(H5Tcreate(H5T_COMPOUND, sizeof(char*)));
    H5Tinsert(remark, "remark", 0, text);
    std::array<char*, 4> remarks{};
    REQUIRE(H5Dread(visits, remark, H5S_ALL, H5S_ALL, H5P_DEFAULT, remarks.data()) >= 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::string(remarks[i]) == "as it came");
    for (char* one : remarks) H5free_memory(one);
  });
}

namespace {
const std::string bad = "\xef\xbf\xbd";
}

TEST_CASE("well-formed text stays as it is") {
  for (const char* text : {"", "plain", "é", "µ", "€", "\xed\x9f\xbf", "\xee\x80\x80", "𝄞", "\xf4\x8f\xbf\xbf"})
    CHECK(utf8(text) == text);
}

TEST_CASE("what is out of place becomes U+FFFD") {
  CHECK(utf8("a\xff"
             "b") == "a" + bad + "b");
  CHECK(utf8("\x80") == bad);
  CHECK(utf8("\xc3") == bad);  // ends too early
  CHECK(utf8("\xc3(") == bad + "(");
  CHECK(utf8("\xc0\xaf") == bad + bad);  // overlong '/'
  CHECK(utf8("\xe0\x80\xaf") == bad + bad + bad);
  CHECK(utf8("\xed\xa0\x80") == bad + bad + bad);            // a surrogate
  CHECK(utf8("\xf4\x90\x80\x80") == bad + bad + bad + bad);  // past U+10FFFF
  CHECK(utf8("\xe2\x82") == bad);                            // one for a sequence that the end cuts short
  CHECK(utf8(std::string("a\0b", 3)) == "a" + bad + "b");
}

}  // namespace trace_format_test
