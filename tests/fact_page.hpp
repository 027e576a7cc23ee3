// The facts of a device, as the tables of data/TRACE_FORMAT.md have them: a row each.
#pragma once

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace npgpu {

struct FactRow {
  std::string name;  // a * stands for a part that varies
  std::string source, judged_by, meaning;
};

// The rows of all tables with the columns "from" and "judged by".
inline std::vector<FactRow> rows_of_facts() {
  const std::string page = contents(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/TRACE_FORMAT.md");
  const std::string head = " | from | judged by | |\n|---|---|---|---|\n";
  const std::regex row(R"rx(\| `([^`|]+)` \| ([^|]*) \| ([^|]*) \| (.*) \|)rx");
  std::vector<FactRow> all;
  for (std::size_t at = page.find(head); at != page.npos; at = page.find(head, at)) {
    at += head.size();
    while (page[at] == '|') {
      const std::size_t end = page.find('\n', at);
      std::smatch found;
      const std::string line = page.substr(at, end - at);
      INFO(line);
      REQUIRE(std::regex_match(line, found, row));
      all.push_back({found[1], found[2], found[3], found[4]});
      at = end + 1;
    }
  }
  return all;
}

}  // namespace npgpu
