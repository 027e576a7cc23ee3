// The commands, and the program that runs one of them.
#pragma once

#include <string>
#include <vector>

#include "netpipe/cli/options.hpp"

namespace npgpu::cli {

Command characterize();
Command check();
Command transfer();
Command matrix();
Command collectives();
Command probe();
Command streams();
Command calls();
Command pieces();
Command energy();
Command partition();
Command report();
Command derive_parameters();
Command roofline();
Command predict();
Command simulate_job();
Command compare_traces();
Command fleet();
Command export_trace();
Command merge();
Command info();
Command completion();
Command manual();

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
