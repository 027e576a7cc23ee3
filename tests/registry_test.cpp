// A module is a file, a line in CMake and a name: the three agree. Devices come in families, by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace registry_test {

using namespace npgpu;
namespace fs = std::filesystem;

TEST_CASE("every module file is registered under its own name, or left out of this build with a reason") {
  const fs::path folder = fs::path(NPGPU_SOURCE_DIR) / "netpipe/modules";
  std::ifstream cmake(folder / "CMakeLists.txt");
  const std::string lines{std::istreambuf_iterator<char>(cmake), {}};
  std::set<std::string> seen;
  for (std::size_t at = lines.find("\nnpgpu_module("); at != std::string::npos;
       at = lines.find("\nnpgpu_module(", at + 1)) {
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

TEST_CASE("every module says what it is, and reaches a family of devices, or ranks") {
  for (const auto& module : modules()) {
    CAPTURE(module->name());
    CHECK_FALSE(module->summary().empty());
    if (module->device_kind() == "ranks") continue;  // of a job: its ends are named by both
    CHECK(devices::family_of(std::string(module->device_kind()) + ":0").kind() == module->device_kind());
  }
}

TEST_CASE("families of devices: each kind once, with devices whose names begin with it, or a reason for none") {
  std::set<std::string_view> kinds;
  for (const auto& family : devices::families()) {
    CHECK(kinds.insert(family->kind()).second);
    const auto all = family->list();
    if (all.empty()) CHECK_FALSE(family->why_none().empty());
    for (const DeviceInfo& device : all) {
      CHECK(devices::kind_of(device.id) == family->kind());
      CHECK(devices::find(device.id).name == device.name);
    }
  }
  CHECK(kinds == std::set<std::string_view>{"cuda", "host", "opencl", "sim"});
  CHECK(devices::list().size() >= 2);
}

TEST_CASE("what is measured by default: the first GPU, and the host where there is none, with the reason") {
  const auto gpus = devices::gpus();
  CHECK(devices::default_device() == (gpus.empty() ? "host" : gpus.front().id));
  CHECK(devices::why_no_gpu().empty() == !gpus.empty());
  if (gpus.empty())
    CHECK_THROWS_WITH_AS(devices::find("cuda:0"), ("--device cuda:0: " + devices::why_no_gpu()).c_str(), Error);
}

TEST_CASE("a word that is no device, and one that is not there") {
  const auto kind_of_error = [](const std::string& id) {
    try {
      devices::find(id);
    } catch (const Error& e) {
      return e.kind();
    }
    return ErrorKind::failed;
  };
  CHECK(kind_of_error("gpu0") == ErrorKind::usage);
  CHECK(kind_of_error("") == ErrorKind::usage);
  CHECK(kind_of_error("host:1") == ErrorKind::usage);
  CHECK(kind_of_error("sim:nonesuch") == ErrorKind::usage);
  CHECK(kind_of_error("cuda:99") == (devices::gpus().empty() ? ErrorKind::nothing : ErrorKind::usage));
  CHECK_THROWS_WITH_AS(devices::find("host:1"), "--device host:1 is not there: this machine has host", Error);
}

namespace {

// Two GPUs, as of a family that does not know more of nodes than which devices it has.
struct TwoGpus : DeviceFamily {
  std::string_view kind() const override { return "two"; }
  bool has_gpus() const override { return true; }
  std::vector<DeviceInfo> list() const override {
    std::vector<DeviceInfo> all(2);
    all[0].id = "two:0";
    all[1].id = "two:1";
    return all;
  }
};

}  // namespace

TEST_CASE("a GPU that is not there has no node: nobody gets the others in its place") {
  const TwoGpus family;
  CHECK(family.node("two:1") == std::vector<std::string>{"two:0", "two:1"});
  CHECK(family.node("two:7") == std::vector<std::string>{"two:7"});
  CHECK_THROWS_WITH_AS(family.find("two:7"), "--device two:7 is not there: this machine has two:0, two:1", Error);
}

TEST_CASE("a fact by its name, and as a number") {
  const Facts facts{{"a", std::int64_t{3}}, {"b", 0.5}, {"c", std::string("text")}};
  REQUIRE(find_fact(facts, "c"));
  CHECK(std::get<std::string>(*find_fact(facts, "c")) == "text");
  CHECK(find_fact(facts, "d") == nullptr);
  CHECK(number_fact(facts, "a") == 3);
  CHECK(number_fact(facts, "b") == 0.5);
  for (const char* none : {"c", "d"}) CHECK(std::isnan(number_fact(facts, none)));
}

}  // namespace registry_test
