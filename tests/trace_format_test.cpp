// data/TRACE_FORMAT.md says what is in a trace: every attribute and column of the code, with its unit.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"

namespace trace_format_test {

using namespace npgpu;

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

}  // namespace trace_format_test
