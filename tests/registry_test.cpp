// A module is a file, a line in CMake and a name: the three agree.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "npgpu/module.hpp"

using namespace npgpu;
namespace fs = std::filesystem;

TEST_CASE("every module file is registered under its own name, or left out of this build with a reason") {
  const fs::path folder = fs::path(NPGPU_SOURCE_DIR) / "netpipe/modules";
  std::ifstream cmake(folder / "CMakeLists.txt");
  const std::string lines{std::istreambuf_iterator<char>(cmake), {}};
  std::set<std::string> seen;
  for (std::size_t at = lines.find("\nnpgpu_module("); at != std::string::npos; at = lines.find("\nnpgpu_module(", at + 1)) {
    const std::size_t begin = at + 14;
    const std::string name = lines.substr(begin, lines.find_first_of(" )", begin) - begin);
    CAPTURE(name);
    CHECK(fs::exists(folder / (name + ".cpp")));
    const Module* module = find_module(name);
    const auto& missing = missing_modules();
    const auto left_out =
        std::find_if(missing.begin(), missing.end(), [&](const MissingModule& m) { return m.name == name; });
    CHECK((module != nullptr) != (left_out != missing.end()));
    if (module) CHECK(module->name() == name);
    if (left_out != missing.end()) CHECK_FALSE(left_out->reason.empty());
    seen.insert(name);
  }
  CHECK(seen.size() >= 4);
  CHECK(modules().size() + missing_modules().size() == seen.size());
}

TEST_CASE("modules are listed by name, each once") {
  const auto& all = modules();
  CHECK(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->name() < b->name(); }));
}

TEST_CASE("every module says what it is, and either has devices or says why not") {
  for (const auto& module : modules()) {
    CAPTURE(module->name());
    CHECK_FALSE(module->summary().empty());
    if (module->devices().empty()) CHECK_FALSE(module->why_none().empty());
  }
}
