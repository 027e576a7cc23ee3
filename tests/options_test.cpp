#include "netpipe/cli/options.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "netpipe/cli/variables.hpp"
#include "npgpu/error.hpp"

namespace options_test {

using namespace npgpu;
using namespace npgpu::cli;

namespace {

const Command demo{
    "transfer",
    "a command for tests",
    "About it.",
    {"PLACE"},
    {"npgpu transfer here"},
    {{"Group", {Option("end", "10"), "async", "output", "case", Option("streams", {}, "Default: all.")}}},
    nullptr};

struct Demo {
  Options options{demo};
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
  Demo s;
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
  const File file("[transfer]\nend = 3\n[probe]\nunknown = 1\n");
  const std::string config = "--config=" + file.path.string();
  Demo standard;
  standard.options.read({});
  CHECK(standard.options.text("end") == "10");
  Demo from_file;
  from_file.options.read({config});
  CHECK(from_file.options.text("end") == "3");
  const Variable variable("NPGPU_END", "2");
  Demo from_environment;
  from_environment.options.read({config});
  CHECK(from_environment.options.text("end") == "2");
  Demo from_line;
  from_line.options.read({config, "--end=1"});
  CHECK(from_line.options.text("end") == "1");
}

TEST_CASE("a variable that is nearly one of ours is named, and others are a site's own") {
  const Variable slip("NPGPU_DEVISE", "cuda:1"), site("NPGPU_ROOT", "/opt/npgpu"), folder("NPGPU_DIR", "/opt"),
      library("NPGPU_DEVICES", "/opt/devices"), option("NPGPU_DRY_RUN", "1");
  std::ostringstream hints;
  hint_at_variables(hints);
  const std::string said = hints.str();
  CHECK(said.find("npgpu: the variable NPGPU_DEVISE means nothing; did you mean NPGPU_DEVICE?\n") != std::string::npos);
  for (const char* name : {"NPGPU_ROOT", "NPGPU_DIR ", "NPGPU_DEVICES ", "NPGPU_DRY_RUN"})
    CHECK(said.find(name) == std::string::npos);
}

TEST_CASE("switches come from everywhere too") {
  const Variable variable("NPGPU_ASYNC", "true");
  Demo s;
  s.options.read({});
  CHECK(s.options.on("async"));
}

TEST_CASE("names are taken in full only, and what is unknown is named") {
  CHECK(refusal({"--en=1"}) == "unknown option '--en'; did you mean '--end'? (npgpu help transfer)");
  CHECK(refusal({"--stream=1"}).find("did you mean '--streams'?") != std::string::npos);
  CHECK(refusal({"--frobnicate"}) == "unknown option '--frobnicate' (npgpu help transfer)");
  CHECK(refusal({"-x"}) == "unknown option '-x' (npgpu help transfer)");
  CHECK(refusal({"-end=1"}) == "unknown option '-end'; did you mean '--end'? (npgpu help transfer)");
  CHECK(refusal({"--end"}).find("end") != std::string::npos);
  CHECK(refusal({"a", "b"}).find("'b' is one argument too many") != std::string::npos);
  CHECK(refusal({"--config=/nowhere.ini"}) == "--config: /nowhere.ini: cannot be read: No such file or directory");
  CHECK(refusal({"--end=1", "--end=2"}).find("end") != std::string::npos);
  const File file("nonsense = 1\n");
  CHECK(refusal({"--config=" + file.path.string()}).find("'nonsense' is no option of 'transfer'") != std::string::npos);
}

TEST_CASE("a configuration on a folder, or with a section that is no command, is an error") {
  CHECK(refusal({"--config=/tmp"}) == "--config: /tmp: is a folder, not a plain file");
  const File file("[transfr]\nend = 3\n");
  CHECK(refusal({"--config=" + file.path.string()}) ==
        file.path.string() + ": [transfr] is no command; did you mean 'transfer'?");
}

TEST_CASE("help is asked for by its long and its short name") {
  for (const char* word : {"--help", "-h"}) {
    Demo demo_;
    CHECK_FALSE(demo_.options.read({word}));
  }
}

TEST_CASE("an option that may be repeated keeps all its values, and the first source wins") {
  const Variable variable("NPGPU_CASE", "jobs");
  Demo s;
  s.options.read({"--case", "transfers:0", "--case=probes"});
  CHECK(s.options.texts("case") == std::vector<std::string>{"transfers:0", "probes"});
  Demo t;
  t.options.read({});
  CHECK(t.options.texts("case") == std::vector<std::string>{"jobs"});
}

TEST_CASE("the plan is what was asked to be measured: not where it goes, not what would have been done anyway") {
  Demo s;
  s.options.read({"here", "--end", "10", "--async", "--output", "x.h5"});
  CHECK(s.options.plan() == "transfer here --async");
  const Variable variable("NPGPU_END", "11");
  Demo t;
  t.options.read({"here"});
  CHECK(t.options.plan() == "transfer here --end 11");
}

TEST_CASE("help names each value, says defaults, and ends with an example") {
  Demo s;
  const std::string help = s.options.help(80);
  CHECK(help.rfind("Usage: npgpu transfer PLACE [options]\n\nAbout it.\n\nGroup:\n", 0) == 0);
  CHECK(help.find("  --end SIZE            The largest size. Default: 10.\n") != std::string::npos);
  CHECK(help.find("  -o, --output FILE     ") != std::string::npos);
  CHECK(help.find("used round-robin. Default: all.\n") != std::string::npos);
  CHECK(help.find("  -h, --help            Print this text.\n") != std::string::npos);
  CHECK(help.find("\nExamples:\n  npgpu transfer here\n") != std::string::npos);
}

TEST_CASE("a place is needed by name") {
  Demo s;
  s.options.read({});
  CHECK_THROWS_WITH_AS(s.options.place("PLACE"), "'transfer' needs PLACE (npgpu help transfer)", Error);
  Demo t;
  t.options.read({"here"});
  CHECK(t.options.place("PLACE") == "here");
}

}  // namespace options_test
