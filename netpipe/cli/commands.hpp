// The commands, and the program that runs one of them.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/registry.hpp"

namespace npgpu::cli {

// A command joins the list: its file ends with const Joined<ListedCommand> listed_name({place, function}).
struct ListedCommand {
  int place = 0;  // in the list
  Command (*make)() = nullptr;

  int rank() const { return place; }
};

const std::vector<Command>& commands();  // in the order in which they are listed
std::vector<std::string> command_names();
// Throws Error(usage) with the nearest name.
const Command& command_named(const std::string& name);

struct ExitMeaning {
  std::string codes, meaning;
};
const std::vector<ExitMeaning>& exit_meanings();

// The whole program: arguments without its own name, and the word that it was started by.
int run(const Arguments&, const std::string& started_as = "npgpu");
// How a command line begins that the user can copy: "npgpu" where PATH leads to this program, else as it was started.
std::string called();
// A word as a shell takes it.
std::string quoted(const std::string&);
// The command line as it was typed.
std::string typed();
// The arguments that measure this device alone, into this file, and say nothing: as they were typed otherwise.
Arguments for_device(const std::string& device, const std::string& output);
// The command line that continues the trace at `output`: as it was typed, with --resume.
std::string resuming(const std::string& output);

}  // namespace npgpu::cli
