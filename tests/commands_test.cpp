#include "netpipe/cli/commands.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "netpipe/cli/case_choice.hpp"
#include "netpipe/cli/glossary.hpp"
#include "netpipe/cli/measure_options.hpp"
#include "netpipe/cli/suggestion.hpp"

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
}

TEST_CASE("words are quoted as a shell takes them") {
  CHECK(quoted("sim:./a.json") == "sim:./a.json");
  CHECK(quoted("two words") == "'two words'");
  CHECK(quoted("it's") == "'it'\\''s'");
  CHECK(quoted("a;b") == "'a;b'");
  CHECK(quoted("") == "''");
}

}  // namespace commands_test
