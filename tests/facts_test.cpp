// Every fact of a device has a row in netpipe/devices/fact_table.hpp, and data/TRACE_FORMAT.md's tables are made of
// those rows: with NPGPU_WRITE_PAGES set, this test writes them.
#include "netpipe/devices/host/facts.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

#include "netpipe/devices/fact_table.hpp"
#include "netpipe/devices/host/pci.hpp"
#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "scratch.hpp"

namespace facts_test {

using namespace npgpu;
namespace fs = std::filesystem;

namespace {

const fs::path root = NPGPU_SOURCE_DIR;

// "unread_*" stands for "unread_ecc".
bool stands_for(std::string_view row, std::string_view name) {
  const std::size_t star = row.find('*');
  if (star == row.npos) return row == name;
  return name.size() + 1 >= row.size() && name.starts_with(row.substr(0, star)) && name.ends_with(row.substr(star + 1));
}

bool has_row(std::string_view name) {
  for (const devices::FactTable& table : devices::fact_tables)
    for (const auto& rows : table.rows)
      for (const devices::FactRow& row : rows)
        if (stands_for(row.name, name)) return true;
  return false;
}

std::string header_of(const devices::FactTable& table) {
  return fmt::format("| {} | from | judged by | |\n|---|---|---|---|\n", table.title);
}

std::string markdown_of(const devices::FactTable& table) {
  std::string text = header_of(table);
  for (const auto& rows : table.rows)
    for (const devices::FactRow& row : rows)
      text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.source, row.judged_by, row.meaning);
  return text;
}

// What the sources in a folder write between quotes, where one of these expressions is found.
std::set<std::string> quoted_in(const fs::path& folder, std::initializer_list<const char*> expressions) {
  std::set<std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" || entry.path().string().find("/simulated/") != std::string::npos) continue;
    const std::string text = contents(entry.path());
    for (const char* expression : expressions) {
      const std::regex pattern(expression);
      for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) all.insert(at->str(1));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the page's tables of facts are made of the rows") {
  const fs::path path = root / "data/TRACE_FORMAT.md";
  std::string page = contents(path);
  for (const devices::FactTable& table : devices::fact_tables) {
    CAPTURE(table.title);
    const std::size_t begin = page.find(header_of(table)), end = page.find("\n\n", begin);
    REQUIRE(begin != std::string::npos);
    const std::string wanted = markdown_of(table);
    if (std::getenv("NPGPU_WRITE_PAGES")) page.replace(begin, end + 1 - begin, wanted);
    else CHECK(page.substr(begin, end + 1 - begin) == wanted);
  }
  if (std::getenv("NPGPU_WRITE_PAGES")) std::ofstream(path) << page;
}

TEST_CASE("each fact has one row, a source and a meaning") {
  std::set<std::string> seen;
  for (const devices::FactTable& table : devices::fact_tables)
    for (const auto& rows : table.rows)
      for (const devices::FactRow& row : rows) {
        CAPTURE(row.name);
        CHECK(seen.insert(row.name).second);
        CHECK(*row.source);
        CHECK(*row.meaning);
      }
}

TEST_CASE("what backends write has rows") {
  const auto written =
      quoted_in(root / "netpipe/devices",
                {R"rx(emplace_back\("([a-z0-9_]+)")rx", R"rx(\b(?:text|number|add_whole|add)\("([a-z0-9_]+)")rx",
                 R"rx(add_text\(facts, "([a-z0-9_]+)")rx", R"rx(\{"([a-z0-9_]+)", (?:cudaDevAttr|CL_))rx",
                 R"rx(\{(?:"[a-z_]+"|nullptr), "([a-z0-9_]+)",\s*[^"\s])rx"});
  CHECK(written.size() > 110);  // the search itself works
  for (const std::string& name : written) {
    CAPTURE(name);
    CHECK(has_row(name));
  }
  for (const auto& [name, fact] : host::host_device().facts) {
    CAPTURE(name);
    CHECK(has_row(name));
  }
}

TEST_CASE("what simulated devices have has rows, or is in their hardware") {
  std::set<std::string> seen;
  for (const DeviceInfo& device : devices::list()) {
    if (!device.simulated) continue;
    Facts all = device.facts;
    for (const auto& counter : devices::counters(device.id)) all.push_back(counter);
    const Facts hardware = simulated::read_spec(text_fact(device.facts, "spec_file")).hardware;
    for (const auto& [name, fact] : all) {
      CAPTURE(device.id);
      CAPTURE(name);
      CHECK((has_row(name) || find_fact(hardware, name)));
      seen.insert(name);
    }
  }
  CHECK(seen.size() > 50);
}

TEST_CASE("what a judgement reads has a row") {
  // Of simulated devices' hardware.
  const std::set<std::string> others{"sms"};
  const auto read = quoted_in(
      root / "netpipe/model/health",
      {R"rx(\b(?:fact|text|counter|rise|state)\("([a-z0-9_]+)")rx", R"rx(_fact\([a-z_.*]+, "([a-z0-9_]+)")rx"});
  CHECK(read.size() > 50);
  for (const std::string& name : read) {
    CAPTURE(name);
    CHECK((has_row(name) || others.contains(name)));
  }
}

}  // namespace facts_test
