#include "netpipe/cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <new>

#include "netpipe/cli/version.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

std::string command_line;

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$*?") == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void overview(std::ostream& out) {
  out << "npgpu measures what a node with GPUs really does, and keeps every sample.\n\n"
         "Start here:\n"
         "  npgpu characterize        measure this machine: a trace and a summary\n"
         "  npgpu report TRACE        the summary again, in full\n\n"
         "Commands:\n";
  for (const Command& command : commands()) out << fmt::format("  {:<14}{}\n", command.name, command.summary);
  out << "\nnpgpu COMMAND --help lists a command's options; npgpu --version says what this build is.\n"
         "Exit codes: 0 done, 1 failed while running, 2 usage or bad input, 3 a threshold was missed,\n"
         "75 stopped by a signal with the trace saved, 77 nothing to measure.\n";
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    overview(std::cout);
    return exit_code::done;
  }
  if (arguments[0] == "--version") {
    std::cout << version_text();
    return exit_code::done;
  }
  const auto& all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == arguments[0]; });
  if (found == all.end())
    throw Error(ErrorKind::usage, "'" + arguments[0] + "' is no command; npgpu --help lists them");
  return found->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      {"characterize", "measure every GPU of this machine, or its memory where it has none", characterize},
      {"transfer", "measure memory copies over sizes, one case or many", transfer},
      {"probe", "time kernels on one unit of a device and on all", probe},
      {"streams", "time jobs cut into streams, and what their parts cost", streams},
      {"derive", "how a device is built, from the probes of a trace", derive_parameters},
      {"simulate", "play a job in streams through a simulated node", simulate_job},
      {"predict", "how many streams a job should take, from a trace", predict},
      {"report", "show a trace in the terminal", report},
      {"compare", "compare two traces, point by point", compare_traces},
      {"export", "write a trace as csv, json or NetPIPE's np.out", export_trace},
      {"info", "this machine and its devices, and what they say of themselves", info},
      {"list", "modules, devices and the words that options take", list},
  };
  return all;
}

const std::string& typed() { return command_line; }

int run(const Arguments& arguments) {
  command_line = "npgpu";
  for (const std::string& word : arguments) command_line += ' ' + quoted(word);
  try {
    const int code = dispatch(arguments);
    std::cout.flush();
    if (!std::cout) throw Error(ErrorKind::failed, "standard output could not be written (disk full or pipe closed)");
    return code;
  } catch (const Error& e) {
    std::cerr << "npgpu: " << e.what() << '\n';
    return exit_code_of(e.kind());
  } catch (const std::bad_alloc&) {
    std::cerr << "npgpu: out of host memory\n";
  } catch (const std::exception& e) {
    std::cerr << "npgpu: " << e.what() << '\n';
  }
  return exit_code::failed;
}

}  // namespace npgpu::cli
