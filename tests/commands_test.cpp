// The command line: commands, their options, quantities.
#include "netpipe/cli/commands.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/quantity.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace commands_test {

using namespace npgpu;
using namespace npgpu::cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("an option means the same in every command") {
  std::set<std::string> used;
  for (const Command& command : commands()) {
    const Options options(command);
    std::set<std::string> once;
    for (const std::string& name : options.names()) {
      CAPTURE(command.name);
      CAPTURE(name);
      CHECK(glossary().count(name) == 1);  // which has one meaning for it, and says whether it takes a value
      CHECK(once.insert(name).second);
      used.insert(name);
    }
  }
  for (const auto& [name, meaning] : glossary()) {
    CAPTURE(name);
    CHECK(used.count(std::string(name)) == 1);
    CHECK(meaning.text.back() == '.');
  }
  // No two mean the same under names that differ, and no variable or key can be two options.
  std::set<std::string> texts;
  for (const auto& [name, meaning] : glossary()) CHECK(texts.insert(meaning.text).second);
}

TEST_CASE("the list has three questions, few commands, each once, and an engineer's words") {
  std::set<std::string> seen;
  std::size_t listed = 0;
  for (const Asks question : {Asks::healthy, Asks::able, Asks::mine, Asks::also})
    for (const Command* command : commands(question)) {
      CHECK(seen.insert(command->name).second);
      listed += question != Asks::also;
    }
  CHECK(listed <= 18);
  CHECK(seen.size() == commands().size());
  CHECK(commands(Asks::healthy).front()->name == "check");
  for (const Command& command : commands()) {
    const std::string help = Options(command).help(100);
    for (const char* word : {" lean", " corner", "half %", "by chance"}) {
      CAPTURE(command.name);
      CAPTURE(word);
      CHECK(help.find(word) == std::string::npos);
    }
  }
}

template <class E> void explains_all(std::string_view option) {
  for (const std::string_view word : names_of<E>) {
    CAPTURE(option);
    CAPTURE(word);
    CHECK(glossary().at(option).text.find(word) != std::string::npos);
  }
}

TEST_CASE("every word that an option takes is in its explanation") {
  explains_all<Pattern>("pattern");
  explains_all<Direction>("direction");
  explains_all<Timing>("timing");
  explains_all<Cache>("cache");
  explains_all<Operation>("operation");
  explains_all<DataType>("type");
  explains_all<Form>("form");
  explains_all<Workload>("kernel");
  explains_all<Order>("order");
  explains_all<StreamPool>("pool");
  explains_all<ImplicitSync>("implicit-sync");
  explains_all<Compute>("compute");
  explains_all<ProgressForm>("progress");
}

TEST_CASE("every help is as wide as asked, in groups, with an example") {
  for (const Command& command : commands())
    for (const std::size_t width : {60u, 80u, 100u, 120u}) {
      const std::string help = Options(command).help(width);
      CHECK(help.find("\\x") == std::string::npos);  // what no line may hold, as one_line() writes it
      CAPTURE(command.name);
      CAPTURE(width);
      CHECK((command.groups.empty() || help.find("\nOutput:\n") != std::string::npos ||
             help.find("npgpu help measuring") != std::string::npos));
      CHECK(help.find("Examples:\n  npgpu " + command.name) != std::string::npos);
      CHECK(help.find(" arg") == std::string::npos);
      const std::string before = help.substr(0, help.find("\nExamples:"));  // which are copied as they are
      for (const std::string& line : lines_of(before)) {
        CAPTURE(line);
        CHECK((line.size() <= width || line.find(' ', 25) == std::string::npos));
      }
    }
}

TEST_CASE("help shows no list where a command takes one value") {
  const auto help_of = [](const char* command) { return Options(command_named(command)).help(100); };
  for (const char* command : {"predict", "simulate"})
    for (const char* option : {"order", "pool", "memory"})
      CHECK(help_of(command).find(std::string("--") + option + " LIST") == std::string::npos);
  CHECK(help_of("predict").find("--pieces N ") != std::string::npos);
  CHECK(help_of("simulate").find("--memory WORD ") != std::string::npos);
  CHECK(help_of("pieces").find("--pieces LIST ") != std::string::npos);
}

TEST_CASE("the examples of every help are taken by their command") {
  for (const Command& command : commands())
    for (const std::string& example : command.examples) {
      CAPTURE(example);
      std::istringstream in(example.substr(0, example.find(" > ")));
      Arguments words;
      for (std::string word; in >> word;) words.push_back(word);
      const auto program = std::ranges::find(words, "npgpu");  // behind what starts the ranks of a job
      words.erase(words.begin(), program);
      REQUIRE(words.size() >= 2);
      CHECK(words[1] == command.name);
      Options options(command);
      CHECK_NOTHROW(options.read(spread_cases({words.begin() + 2, words.end()})));
    }
}

TEST_CASE("a near word is suggested, a far one is not") {
  const auto names = command_names();
  CHECK(closest("tranfer", names) == "transfer");
  CHECK(closest("chracterise", names) == "characterize");
  CHECK(closest("pred", names) == "predict");
  CHECK(closest("Transfer", names) == "transfer");
  CHECK(!closest("frobnicate", names));
}

TEST_CASE("cases follow --case, one or several, and the trace's name is none of them") {
  CHECK(spread_cases({"t.h5", "--case", "transfers:0,3", "probes"}) ==
        Arguments{"t.h5", "--case", "transfers:0,3", "--case", "probes"});
  CHECK(spread_cases({"--case", "transfers:0", "t.h5"}) == Arguments{"--case", "transfers:0", "t.h5"});
  CHECK(spread_cases({"--case=jobs", "probes:1", "--json"}) ==
        Arguments{"--case=jobs", "--case", "probes:1", "--json"});
  CHECK(spread_cases({"probes", "--device", "host"}) == Arguments{"probes", "--device", "host"});
}

TEST_CASE("two runs within a second have different names for their traces") {
  CHECK(default_output() != default_output());
  CHECK(default_output().starts_with("npgpu-traces/"));
}

TEST_CASE("words are quoted as a shell takes them") {
  CHECK(quoted("sim:./a.json") == "sim:./a.json");
  CHECK(quoted("two words") == "'two words'");
  CHECK(quoted("it's") == "'it'\\''s'");
  CHECK(quoted("a;b") == "'a;b'");
  CHECK(quoted("") == "''");
}

enum class Sort { small, large };
}  // namespace commands_test
template <> inline constexpr std::array<std::string_view, 2> npgpu::names_of<commands_test::Sort>{"small", "large"};

namespace commands_test {

TEST_CASE("sizes as people write them") {
  CHECK(parse_size("end", "4096") == 4096);
  CHECK(parse_size("end", "4KiB") == 4096);
  CHECK(parse_size("end", "1.5MiB") == 1572864);
  CHECK(parse_size("end", "192M") == 192 * MiB);
  CHECK(parse_size("end", "1GB") == 1000000000);
  CHECK(parse_size("end", "18446744073709551615") == UINT64_MAX);
  CHECK(parse_sizes("sizes", "4KiB,8,8") == std::vector<std::uint64_t>{8, 4096});
}

TEST_CASE("what is no size is refused by one sentence that names the option") {
  const auto message = [](const char* text, std::uint64_t least = 0) {
    try {
      parse_size("end", text, least);
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::usage);
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK(message("-5") == "--end: '-5' is no size; write bytes, or 4KiB, 1.5MiB, 2GiB");
  CHECK(message("") == "--end: '' is no size; write bytes, or 4KiB, 1.5MiB, 2GiB");
  CHECK(message("abc").find("no size") != std::string::npos);
  CHECK(message("4 KiB").find("no size") != std::string::npos);
  CHECK(message("1e6").find("no size") != std::string::npos);
  CHECK(message("0x10").find("no size") != std::string::npos);
  CHECK(message("nan").find("no size") != std::string::npos);
  CHECK(message("18446744073709551616").find("past the largest size") != std::string::npos);
  CHECK(message("99999999999GiB").find("past the largest size") != std::string::npos);
  CHECK(message("99999999999.5GiB").find("past the largest size") != std::string::npos);
  CHECK(message("1.0001KiB").find("not a whole number of bytes") != std::string::npos);
  CHECK(message("0", 1) == "--end: '0' is too small: at least 1");
}

TEST_CASE("counts, durations, fractions, lists") {
  CHECK(parse_count("trials", "7", 1) == 7);
  CHECK_THROWS_AS(parse_count("trials", "7.5", 1), Error);
  CHECK_THROWS_AS(parse_count("trials", "0", 1), Error);
  CHECK_THROWS_AS(parse_count("trials", "11", 1, 10), Error);
  CHECK(parse_duration("budget", "0.25").count() == 0.25);
  CHECK(parse_duration("budget", "250ms").count() == doctest::Approx(0.25));
  CHECK(parse_duration("budget", "10us").count() == doctest::Approx(1e-5));
  CHECK_THROWS_AS(parse_duration("budget", "0"), Error);
  CHECK(parse_duration("wait-quiet", "0", Seconds{0}).count() == 0);
  CHECK(parse_duration("soak", "10min").count() == 600);
  CHECK(parse_duration("soak", "1.5h").count() == 5400);
  CHECK_THROWS_AS(parse_duration("budget", "1d"), Error);
  CHECK_THROWS_AS(parse_duration("soak", "25h"), Error);
  CHECK_THROWS_AS(parse_duration("budget", "100000"), Error);
  CHECK(parse_fraction("tolerance", "5%") == 0.05);
  CHECK(parse_fraction("tolerance", "0.05") == 0.05);
  CHECK_THROWS_AS(parse_fraction("tolerance", "-1%"), Error);
  CHECK_THROWS_AS(parse_fraction("tolerance", "5000%"), Error);
  CHECK(parse_fraction("threshold", "300%") == 3);
  CHECK(parse_number("gap-us", "0.5", 0, 10) == 0.5);
  CHECK(parse_number("gap-us", "0", 0, 10) == 0);
  CHECK_THROWS_AS(parse_number("gap-us", "11", 0, 10), Error);
  CHECK_THROWS_AS(parse_number("slow-down", "0.9", 1, 10), Error);
  CHECK_THROWS_AS(parse_number("gap-us", "5us", 0, 10), Error);
  CHECK_THROWS_AS(parse_number("gap-us", "nan", 0, 10), Error);
  CHECK(split_words("device", "a,b") == std::vector<std::string>{"a", "b"});
  CHECK_THROWS_AS(split_words("device", "a,,b"), Error);
  CHECK(split_names("device", "b,a,b") == std::vector<std::string>{"b", "a"});
  CHECK(parse_size("end", "1.5TiB") == 1536 * GiB);
  CHECK_THROWS_WITH_AS(parse_duration("soak", "0.5", Seconds{1}), "--soak: '0.5' is too small: at least 1 s", Error);
  CHECK_THROWS_WITH_AS(parse_duration("soak", "0", Seconds{1}), "--soak: '0' is too small: it must be positive", Error);
  CHECK_THROWS_AS(split_words("device", ""), Error);
}

TEST_CASE("ranges of counts: both ends, or as far as steps go") {
  using List = std::vector<std::uint64_t>;
  CHECK(parse_counts("n", "2..4,1e1,3", 1, 100) == List{2, 3, 4, 10});
  CHECK(parse_counts("n", "64..96:8", 1, 100) == List{64, 72, 80, 88, 96});
  CHECK(parse_counts("n", "64..95:8", 1, 100) == List{64, 72, 80, 88});
  CHECK(parse_counts("n", "5..5:3", 1, 100) == List{5});
  CHECK(parse_counts("n", "1..40960:10", 1, 100000).size() == 4096);
  for (const char* bad : {"1..2:0", "4..2", "1..2:", "1:2", "1..2:x", "1..4097", "1..40961:10", "..3"})
    CHECK_THROWS_AS(parse_counts("n", bad, 0, 100000), Error);
}

TEST_CASE("a share above 1 needs a percent sign, because 10 may be meant as 10 %") {
  CHECK_THROWS_WITH_AS(parse_fraction("tolerance", "10"),
                       "--tolerance: '10' is not clear: write 10% for 10 percent, or a fraction such as 0.05", Error);
  CHECK(parse_fraction("tolerance", "10%") == doctest::Approx(0.1));
  CHECK(parse_fraction("tolerance", "1") == 1);
}

TEST_CASE("names of an enumeration, one and several") {
  CHECK(parse_names<Sort>("sort", "small,large") == std::vector<Sort>{Sort::small, Sort::large});
  CHECK_THROWS_WITH_AS(parse_name<Sort>("sort", "tiny"), "--sort: 'tiny' is none of small, large", Error);
}

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

}  // namespace commands_test
