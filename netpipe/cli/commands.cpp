#include "netpipe/cli/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <set>
#include <sstream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

// Words of other tools, and of earlier versions.
const std::pair<std::vector<std::string>, std::string_view> other_words[] = {
    {{"-V", "-v", "version"}, "--version"},
    {{"-l", "-L", "--list", "--devices", "devices", "list-devices"}, "info lists the devices"},
    {{"list"}, "info --words shows what it did"},
    {{"soak"}, "check --soak 10min"},
};

Arguments as_typed;
std::string started_as_word = "npgpu";

// The file that a shell takes for this name.
std::filesystem::path on_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / name;
    struct stat is {};
    if (::stat(file.c_str(), &is) == 0 && S_ISREG(is.st_mode) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

void overview(std::ostream& out) {
  out << "npgpu measures what a node with GPUs really does, and keeps every sample.\n\n"
         "Start here:\n";
  const std::string me = called();
  const std::vector<std::pair<std::string, std::string>> first{
      {me + " characterize", "measure this machine: a trace and a summary"},
      {me + " check", "is each GPU healthy, and if not, why"},
      {me + " report TRACE", "the summary again; --all for every size, --html FILE for a page"}};
  for (const auto& [line, what] : first) out << fmt::format("  {:<{}}  {}\n", line, first.back().first.size(), what);
  for (const Asks question : {Asks::healthy, Asks::able, Asks::mine}) {
    out << '\n' << name(question) << '\n';
    for (const Command* command : commands(question))
      out << fmt::format("  {:<14}{}\n", command->name, command->summary);
  }
  std::vector<std::string_view> others;
  for (const Command* command : commands(Asks::also)) others.push_back(command->name);
  out << fmt::format("\n{}: {}\n", name(Asks::also), fmt::join(others, ", "));
  out << fmt::format(
      "\n{0} help COMMAND explains a command, {0} help measuring the options of all that measure;\n"
      "{0} --version identifies this build.\n\nExit codes:\n",
      me);
  for (const ExitMeaning& exit : exit_meanings()) out << fmt::format("  {:<14}{}\n", exit.codes, exit.meaning);
}

int help_width() { return std::clamp(terminal_style().width, 60, 120); }

void explain(const Options& options) { std::cout << options.help(static_cast<std::size_t>(help_width())); }

// Whether standard output is a pipe that nobody reads any more.
bool reader_is_gone() {
  pollfd pipe{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLERR);
}

int dispatch(const Arguments& arguments) {
  const std::string first = arguments.empty() ? "help" : arguments[0];
  if (first == "help" && arguments.size() > 1 && arguments[1] == "measuring") {
    std::cout << help_measuring(static_cast<std::size_t>(help_width()));
    return exit_code::done;
  }
  if (first == "help" && arguments.size() > 1) {
    explain(Options(command_named(arguments[1])));
    return exit_code::done;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    overview(std::cout);
    return exit_code::done;
  }
  if (first == "--version") {
    std::cout << campaign::version_text();
    return exit_code::done;
  }
  const Command& command = command_named(first);
  Options options(command);
  if (!options.read(spread_cases({arguments.begin() + 1, arguments.end()}))) {
    explain(options);
    return exit_code::done;
  }
  std::optional<TextToErrors> elsewhere;
  if (std::ranges::any_of(options.files_beside(), is_standard_output)) elsewhere.emplace();
  return command.run(options);
}

}  // namespace

std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_./:=,+@%-").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  // Quotes that keep escapes, where the word is not to be printed as it is. A backslash of its own is doubled there.
  std::string doubled;
  for (const char c : word) doubled += c == '\\' ? "\\\\" : c == '\'' ? "\\'" : std::string(1, c);
  if (one_line(word) != word) return "$'" + one_line(doubled) + "'";
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> listed;
    for (const auto& one : registered<ListedCommand>()) listed.push_back(one->make());
    return listed;
  }();
  return all;
}

std::vector<const Command*> commands(Asks question) {
  std::vector<const Command*> all;
  const auto& listed = registered<ListedCommand>();
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (listed[i]->asks == question) all.push_back(&commands()[i]);
  return all;
}

const Command& command_named(const std::string& name) {
  if (const auto found = std::ranges::find(commands(), name, &Command::name); found != commands().end()) return *found;
  const auto instead = [&](std::string_view what) {
    throw Error(ErrorKind::usage, fmt::format("'{}' is no command: {} {}", name, called(), what));
  };
  for (const auto& [words, what] : other_words)
    if (std::ranges::find(words, name) != words.end()) instead(what);
  if (std::ranges::any_of(probes(), [&](const auto& probe) { return probe->name() == name; })) instead("probe " + name);
  if (std::error_code ignored; name.ends_with(".h5") || std::filesystem::is_regular_file(name, ignored))
    instead("report " + quoted(name) + " shows a trace");
  if (name.starts_with("-"))
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is no command; options follow the command ({} help)", name, called()));
  throw Error(ErrorKind::usage,
              fmt::format("unknown command '{}'{} ({} help)", name, suggestion(name, command_names()), called()));
}

const std::vector<ExitMeaning>& exit_meanings() {
  static const std::vector<ExitMeaning> all{
      {"0", "done"},
      {"1", "failed while running"},
      {"2", "usage or bad input"},
      {"3, 5, 6, 7", "what compare found: slower, slower by the clock, broken, other hardware"},
      {"3, 6", "what check, matrix and collectives found: slow, broken; 3 also that fleet found suspects"},
      {"4", "not judged: others use the machine, or a limit is not known"},
      {"8",
       "undecided: the interval of a figure holds its limit (check, matrix, collectives); a group slow by its own "
       "limits (fleet)"},
      {"75", "stopped by a signal with the trace saved: continue with --resume"},
      {"77", "nothing to measure"}};
  return all;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return names;
}

std::string called() {
  std::error_code ignored;
  const std::filesystem::path found = on_path("npgpu");
  if (started_as_word == "npgpu" || (!found.empty() && std::filesystem::equivalent(found, "/proc/self/exe", ignored)))
    return "npgpu";
  return cli::quoted(started_as_word);
}

std::string typed() {
  std::string line = "npgpu";
  for (const std::string& word : as_typed) line += ' ' + quoted(word);
  return line;
}

Arguments for_device(const std::string& device, const std::string& output) {
  // What is said in other words below, or is for the one process that judges.
  static const std::set<std::string> replaced{"--device", "--output",      "-o",          "--progress", "--wait-quiet",
                                              "--junit",  "--openmetrics", "--exit-codes"};
  static const std::set<std::string> dropped{"--json", "--quiet", "--force", "--all"};
  Arguments words;
  for (std::size_t i = 0; i < as_typed.size(); ++i) {
    const std::string& word = as_typed[i];
    if (dropped.contains(word)) continue;
    if (replaced.contains(word)) ++i;  // and its value
    else if (!word.starts_with("-o") && !replaced.contains(word.substr(0, word.find('=')))) words.push_back(word);
  }
  for (const char* one : {"--quiet", "--force", "--progress=none", "--wait-quiet=0"}) words.emplace_back(one);
  words.push_back("--device=" + device);
  words.push_back("--output=" + output);
  return words;
}

std::string resuming(const std::string& output) {
  std::string line = called();
  bool named = false, append = false;
  for (const std::string& word : as_typed) {
    if (word == "--force" || word == "--resume") continue;
    append = append || word == "--append";
    named = named || word.rfind("--output", 0) == 0 || word.rfind("-o", 0) == 0;
    line += ' ' + quoted(word);
  }
  return line + (append ? "" : " --resume") + (named ? "" : " --output " + quoted(output));
}

int run(const Arguments& arguments, const std::string& started_as) {
  as_typed = arguments;
  started_as_word = started_as;
  try {
    const int code = dispatch(arguments);
    std::cout.flush();
    // What a stopped run owes is its trace, which is saved: its terminal may be gone. And who closes a pipe, as head
    // does, has read enough.
    if (!std::cout && code != exit_code::stopped && !reader_is_gone())
      throw Error(ErrorKind::failed, "standard output cannot be written: it is closed, or its disk is full");
    return code;
  } catch (const Error& e) {
    complain(e);
    return exit_code_of(e.kind());
  } catch (const std::bad_alloc&) {
    complain("out of host memory");
  } catch (const std::exception& e) {
    complain(e);
  }
  return exit_code::failed;
}

}  // namespace npgpu::cli
