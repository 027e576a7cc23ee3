#include "netpipe/cli/options.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <filesystem>

#include "npgpu/error.hpp"

using namespace npgpu;
using namespace npgpu::cli;

namespace {

struct TransferSample {
  Options options{"demo", "npgpu demo PLACE", "A command for tests.", {"PLACE"}};
  TransferSample() {
    options.group("Group").add_options()("size-limit", word("10"), "a limit")("flag", po::bool_switch(), "a switch");
  }
};

struct Variable {
  explicit Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  const char* name_;
};

struct File {
  explicit File(const char* text) : path(std::filesystem::temp_directory_path() / "npgpu_options_test.ini") {
    std::ofstream(path) << text;
  }
  ~File() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

std::string refusal(std::vector<std::string> arguments) {
  TransferSample s;
  try {
    s.options.read(arguments);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the command line beats the environment, which beats the file, which beats the default") {
  const File file("[demo]\nsize-limit = 3\n[other]\nunknown = 1\n");
  const std::string config = "--config=" + file.path.string();
  TransferSample standard;
  standard.options.read({});
  CHECK(standard.options.text("size-limit") == "10");
  TransferSample from_file;
  from_file.options.read({config});
  CHECK(from_file.options.text("size-limit") == "3");
  const Variable variable("NPGPU_SIZE_LIMIT", "2");
  TransferSample from_environment;
  from_environment.options.read({config});
  CHECK(from_environment.options.text("size-limit") == "2");
  TransferSample from_line;
  from_line.options.read({config, "--size-limit=1"});
  CHECK(from_line.options.text("size-limit") == "1");
}

TEST_CASE("switches come from everywhere too") {
  const Variable variable("NPGPU_FLAG", "true");
  TransferSample s;
  s.options.read({});
  CHECK(s.options.on("flag"));
}

TEST_CASE("names are taken in full only, and what is unknown is named") {
  CHECK(refusal({"--size-lim=1"}).find("--size-lim") != std::string::npos);
  CHECK(refusal({"--nonsense"}).find("--nonsense") != std::string::npos);
  CHECK(refusal({"--size-limit"}).find("size-limit") != std::string::npos);
  CHECK(refusal({"a", "b"}).find("too many arguments") != std::string::npos);
  CHECK(refusal({"--config=/nowhere.ini"}) == "--config: cannot read '/nowhere.ini'");
  CHECK(refusal({"--size-limit=1", "--size-limit=2"}).find("size-limit") != std::string::npos);
  const File file("nonsense = 1\n");
  CHECK(refusal({"--config=" + file.path.string()}).find("'nonsense' is no option of 'demo'") != std::string::npos);
}

TEST_CASE("a place is needed by name") {
  TransferSample s;
  s.options.read({});
  CHECK_THROWS_WITH_AS(s.options.place("PLACE"), "'demo' needs PLACE: npgpu demo PLACE", Error);
  TransferSample t;
  t.options.read({"here"});
  CHECK(t.options.place("PLACE") == "here");
}
