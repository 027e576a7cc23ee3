// The commands of the program, and every option with its one meaning. Commands choose from these, so that an option, an
// NPGPU_* variable and a key of an INI file mean the same everywhere.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "netpipe/cli/options.hpp"
#include "npgpu/vocabulary/device.hpp"

namespace npgpu {
namespace cli {

struct Meaning {
  std::string_view value;    // what stands behind it in a help text: SIZE, FILE; empty for a switch
  std::string text;          // sentences; what is usual in one command only is added there
  char letter = 0;           // its short form, if it has one
  bool repeats = false;      // may be given several times
  std::string_view alone{};  // what it is where none of its words stands behind it; empty: it needs one
};

const std::map<std::string_view, Meaning>& glossary();

// What a user asks, by which the list of commands is grouped. The last are named in one line: files of others, shells.
enum class Asks { healthy, able, mine, also };

}  // namespace cli

template <>
inline constexpr std::array<std::string_view, 4> names_of<cli::Asks>{"Is it healthy?", "What can it do?",
                                                                     "What does it mean for me?", "Also"};

namespace cli {

// A command joins the list: its file ends with const Joined<ListedCommand> listed_name({Asks::able, place, function}).
struct ListedCommand {
  Asks asks = Asks::also;
  int place = 0;  // among those of its question
  Command (*make)() = nullptr;

  int rank() const { return 100 * static_cast<int>(asks) + place; }
};

const std::vector<Command>& commands();      // in the order in which they are listed
std::vector<const Command*> commands(Asks);  // those of one question
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

}  // namespace cli
}  // namespace npgpu
