// Every fact of a device that is written, stated in a spec or judged has a row in data/TRACE_FORMAT.md.
#include "netpipe/devices/host/facts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "fact_page.hpp"
#include "netpipe/devices/simulated/condition.hpp"
#include "netpipe/devices/simulated/spec.hpp"
#include "npgpu/vocabulary/device.hpp"

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
  static const std::vector<FactRow> rows = rows_of_facts();
  return std::ranges::any_of(rows, [&](const FactRow& row) { return stands_for(row.name, name); });
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

TEST_CASE("each fact has one row, a source and a meaning") {
  std::set<std::string> seen;
  for (const FactRow& row : rows_of_facts()) {
    CAPTURE(row.name);
    CHECK(seen.insert(row.name).second);
    CHECK_FALSE(row.source.empty());
    CHECK_FALSE(row.meaning.empty());
  }
  CHECK(seen.size() > 150);  // the page is read
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

TEST_CASE("what a spec may state has rows") {
  for (const std::string_view keys : {simulated::stated_texts, simulated::stated_numbers, simulated::stated_counters}) {
    std::istringstream words{std::string(keys)};
    for (std::string name; words >> name;) {
      CAPTURE(name);
      CHECK(has_row(name));
    }
  }
}

TEST_CASE("what a judgement reads has a row") {
  // Facts of simulated devices' hardware.
  const std::set<std::string> others{"sms"};
  const auto read = quoted_in(
      root / "netpipe/judge/health",
      {R"rx(\b(?:fact|text|counter|rise|state)\("([a-z0-9_]+)")rx", R"rx(_fact\([a-z_.*]+, "([a-z0-9_]+)")rx"});
  CHECK(read.size() > 50);
  for (const std::string& name : read) {
    CAPTURE(name);
    CHECK((has_row(name) || others.contains(name)));
  }
}

}  // namespace facts_test
