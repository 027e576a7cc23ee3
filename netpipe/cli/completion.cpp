// npgpu completion: what a shell needs to complete command lines, generated from the commands and the glossary.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

struct Completed {
  std::string name, value, sentence;
  char letter = 0;
  std::vector<std::string> words;

  bool takes_list() const { return value == "LIST"; }
  bool takes_file() const { return value == "FILE"; }
  bool takes_device() const { return name == "device" || name == "to"; }
};

std::vector<Completed> options_of(const Command& command) {
  std::vector<Completed> all;
  const Options options(command);
  for (const OptionGroup& group : options.groups())
    for (const Option& one : group.options) {
      const Meaning& meaning = glossary().at(one.name);
      Completed option{one.name, one.value(), first_sentence(meaning.text), meaning.letter, words_of(one)};
      // A text that only explains words is replaced by these.
      if (!option.words.empty() && meaning.text.starts_with(option.words.front() + ": "))
        option.sentence = fmt::format("{}", fmt::join(option.words, ", "));
      all.push_back(std::move(option));
    }
  return all;
}

std::vector<std::string> probe_names() {
  std::vector<std::string> names{"all"};
  for (const auto& probe : probes())
    if (std::ranges::find(names, probe->name()) == names.end()) names.emplace_back(probe->name());
  return names;
}

bool takes_files(const Command& command) { return !command.places.empty() && command.name != "probe"; }

std::string joined(const std::vector<std::string>& words, std::string_view before = "") {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}{}{}", text.empty() ? "" : " ", before, word);
  return text;
}

// Within single quotes of a shell; characters of `special` get a backslash.
std::string escaped(const std::string& text, std::string_view special = "") {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') safe += "'\\''";
    else if (special.find(c) != std::string_view::npos) safe += fmt::format("\\{}", c);
    else safe += c;
  }
  return safe;
}

std::string without(std::string text, std::string_view some) {
  std::erase_if(text, [&](char c) { return some.find(c) != std::string_view::npos; });
  return text;
}

void bash(std::ostream& out) {
  out << "# npgpu completion bash: source this, or put it where bash-completion looks.\n"
         "_npgpu() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= options= bare= head=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      << fmt::format("    COMPREPLY=($(compgen -W \"{} help --help --version\" -- \"$cur\"))\n",
                     joined(command_names()))
      << "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n";
  out << fmt::format("    help) bare=\"{}\" ;;\n", joined(command_names()));
  for (const Command& command : commands()) {
    std::string options;
    for (const Completed& option : options_of(command)) options += (options.empty() ? "--" : " --") + option.name;
    out << fmt::format("    {})\n      options=\"{}\"\n", command.name, options);
    if (command.name == "probe") out << fmt::format("      bare=\"{}\"\n", joined(probe_names()));
    else if (command.name == "completion") out << "      bare=\"bash zsh fish devices\"\n";
    else if (command.name == "man") out << fmt::format("      bare=\"{}\"\n", joined(command_names()));
    else if (takes_files(command)) out << "      bare=/\n";
    out << "      case $prev in\n";
    for (const Completed& option : options_of(command)) {
      if (option.value.empty()) continue;
      const std::string names =
          option.letter ? fmt::format("--{}|-{}", option.name, option.letter) : "--" + option.name;
      const std::string words = option.takes_device()  ? "$(npgpu completion devices 2>/dev/null)"
                                : option.takes_file()  ? "/"
                                : option.words.empty() ? "-"
                                                       : joined(option.words);
      out << fmt::format("        {}) words=\"{}\" ;;\n", names, words);
    }
    out << "      esac ;;\n";
  }
  out << "  esac\n"
         "  if [ -z \"$words\" ]; then\n"
         "    case $cur in -*) words=$options ;; *) words=$bare ;; esac\n"
         "  fi\n"
         "  case $words in\n"
         "    /) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
         "    -) COMPREPLY=() ;;\n"
         "    *)\n"
         "      case $cur in *,*) head=${cur%,*}, ;; esac\n"
         "      COMPREPLY=($(compgen -P \"$head\" -W \"$words\" -- \"${cur##*,}\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _npgpu npgpu\n";
}

void zsh(std::ostream& out) {
  out << "#compdef npgpu\n# npgpu completion zsh: put this into a folder of $fpath, as _npgpu.\n"
         "_npgpu_devices() { local -a found; found=(${(f)\"$(npgpu completion devices 2>/dev/null)\"}); _sequence "
         "compadd -a found }\n"
         "_npgpu() {\n"
         "  local -a commands=(\n";
  for (const Command& command : commands()) out << fmt::format("    '{}:{}'\n", command.name, escaped(command.summary));
  out << "    'help:explain a command'\n"
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n"
         "    help|man) _describe command commands ;;\n"
         "    completion) _values shell bash zsh fish devices ;;\n";
  for (const Command& command : commands()) {
    if (command.name == "completion" || command.name == "man") continue;
    out << fmt::format("    {})\n      _arguments", command.name);
    for (const Completed& option : options_of(command)) {
      const std::string text = escaped(option.sentence, "[]:");
      std::string takes;
      if (!option.value.empty()) {
        takes = fmt::format(":{}:", without(option.value, "[]:"));
        if (option.takes_device()) takes += "_npgpu_devices";
        else if (option.takes_file()) takes += "_files";
        else if (!option.words.empty())
          takes += option.takes_list() ? fmt::format("_sequence compadd - {}", joined(option.words))
                                       : fmt::format("({})", joined(option.words));
        else takes += " ";
      }
      out << fmt::format(" \\\n        '--{}[{}]{}'", option.name, text, takes);
      if (option.letter) out << fmt::format(" \\\n        '-{}[{}]{}'", option.letter, text, takes);
    }
    if (command.name == "probe")
      out << fmt::format(" \\\n        '*:probe:_sequence compadd - {}'", joined(probe_names()));
    else if (takes_files(command)) out << " \\\n        '*:file:_files'";
    out << " ;;\n";
  }
  out << "  esac\n"
         "}\n"
         "compdef _npgpu npgpu\n";
}

void fish(std::ostream& out) {
  out << "# npgpu completion fish: put this into ~/.config/fish/completions, as npgpu.fish.\n"
         "complete -c npgpu -f\n";
  for (const Command& command : commands())
    out << fmt::format("complete -c npgpu -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                       escaped(command.summary));
  out << "complete -c npgpu -n __fish_use_subcommand -a help -d 'explain a command'\n";
  out << fmt::format("complete -c npgpu -n '__fish_seen_subcommand_from help man' -a '{}'\n", joined(command_names()));
  out << "complete -c npgpu -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish devices'\n";
  for (const Command& command : commands()) {
    const std::string here = fmt::format("complete -c npgpu -n '__fish_seen_subcommand_from {}'", command.name);
    if (command.name == "probe") out << here << fmt::format(" -a '{}'\n", joined(probe_names()));
    else if (takes_files(command)) out << here << " -F\n";
    for (const Completed& option : options_of(command)) {
      out << here << " -l " << option.name;
      if (option.letter) out << " -s " << option.letter;
      if (option.takes_file()) out << " -r -F";
      else if (option.takes_device()) out << " -x -a '(npgpu completion devices 2>/dev/null)'";
      else if (!option.words.empty()) out << fmt::format(" -x -a '{}'", joined(option.words));
      else if (!option.value.empty()) out << " -x";
      out << fmt::format(" -d '{}'\n", escaped(option.sentence));
    }
  }
}

int run_completion(const Options& options) {
  const std::string shell = options.place("SHELL");
  if (shell == "bash") bash(std::cout);
  else if (shell == "zsh") zsh(std::cout);
  else if (shell == "fish") fish(std::cout);
  else if (shell == "devices")
    for (const auto& family : devices::families())
      for (const DeviceInfo& device : family->list()) std::cout << device.id << '\n';
  else
    throw Error(ErrorKind::usage,
                "'" + shell + "' is none of bash, zsh, fish, devices (" + called() + " help completion)");
  return exit_code::done;
}

}  // namespace

Command completion() {
  return {"completion",
          "what a shell needs to complete npgpu's command lines",
          "Prints completions for bash, zsh or fish: commands, options, the words that options take, devices and "
          "files. With devices in place of a shell it prints the devices' names.",
          {"SHELL"},
          {"npgpu completion bash > ~/.local/share/bash-completion/completions/npgpu",
           "npgpu completion fish > ~/.config/fish/completions/npgpu.fish"},
          {},
          run_completion};
}

const Joined<ListedCommand> listed_completion({Asks::also, 6, completion});

// npgpu man: manual pages in man(7)'s language, generated from the commands and the glossary.

namespace {

// As roff takes it: hyphens that can be copied, backslashes, and no request at the start of a line.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '-') safe += "\\-";
    else if (c == '\\') safe += "\\e";
    else safe += c;
  }
  return safe.starts_with('.') || safe.starts_with('\'') ? "\\&" + safe : safe;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void head(std::ostream& out, const std::string& page, const std::string& summary) {
  out << fmt::format(".ds AD l\n.TH {} 1 \"\" \"npgpu {}\" \"npgpu\"\n.ad l\n.SH NAME\n{} \\- {}\n", upper(roff(page)),
                     campaign::tool_version(), roff(page), roff(summary));
}

void tail(std::ostream& out) {
  out << ".SH ENVIRONMENT\n.TP\n.B NPGPU_*\nOptions may stand in variables: NPGPU_DRY_RUN for \\-\\-dry\\-run. The "
         "command line comes first, then variables, then the file of \\-\\-config.\n.SH EXIT STATUS\n";
  for (const ExitMeaning& exit : exit_meanings())
    out << fmt::format(".TP\n.B {}\n{}\n", exit.codes, roff(exit.meaning));
}

void page_of(std::ostream& out, const Command& command) {
  head(out, "npgpu-" + command.name, command.summary);
  out << fmt::format(".SH SYNOPSIS\n.B npgpu {}\n", roff(command.name));
  for (const std::string& place : command.places) out << fmt::format(".I {}\n", roff(place));
  out << fmt::format("[options]\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n", roff(command.about));
  const Options options(command);
  for (const OptionGroup& group : options.groups()) {
    out << fmt::format(".SS {}\n", roff(group.title));
    for (const Option& option : group.options) {
      const Meaning& meaning = glossary().at(option.name);
      out << ".TP\n.BR " << (meaning.letter ? fmt::format("\\-{} \", \" ", meaning.letter) : "");
      out << "\\-\\-" << roff(option.name);
      if (const std::string value = option.value(); !value.empty()) out << fmt::format(" \" \\fI{}\\fR\"", roff(value));
      out << '\n' << roff(meaning.text);
      if (!option.note.empty()) out << ' ' << roff(option.note);
      if (option.standard) out << fmt::format(" Default: {}.", roff(*option.standard));
      out << '\n';
    }
  }
  tail(out);
  out << ".SH EXAMPLES\n";
  for (const std::string& example : command.examples) out << fmt::format(".nf\n.RS\n{}\n.RE\n.fi\n", roff(example));
  out << ".SH SEE ALSO\n.BR npgpu (1)\n";
}

void page_of_all(std::ostream& out) {
  head(out, "npgpu", "measures what a node with GPUs really does");
  out << ".SH SYNOPSIS\n.B npgpu\n.I COMMAND\n[options]\n.SH DESCRIPTION\n"
         "npgpu measures how fast memory moves on a node with GPUs, how the hardware is built and what calls cost, and "
         "keeps every sample in a trace.\n.B npgpu characterize\nmeasures this machine;\n.B npgpu check\nsays whether "
         "each GPU is healthy;\n.B npgpu report\n.I TRACE\nprints what was measured.\n.SH COMMANDS\n";
  for (const Command& command : commands())
    out << fmt::format(".TP\n.BR npgpu\\-{} (1)\n{}\n", roff(command.name), roff(command.summary));
  tail(out);
}

// On a terminal a page is what man makes of it, in its pager. False where there is no man.
bool shown_by_man(const std::string& page) {
  constexpr int not_found = 127;
  std::signal(SIGPIPE, SIG_IGN);  // who leaves the pager early has read enough
  std::FILE* const man = ::popen("command -v man > /dev/null || exit 127; exec man -l -", "w");
  if (!man) return false;
  std::fwrite(page.data(), 1, page.size(), man);
  const int status = ::pclose(man);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == not_found);
}

int run_man(const Options& options) {
  const auto name = options.maybe("COMMAND");
  std::ostringstream page;
  if (!name) page_of_all(page);
  else page_of(page, command_named(*name));
  if (!::isatty(STDOUT_FILENO) || !shown_by_man(page.str())) std::cout << page.str();
  return exit_code::done;
}

}  // namespace

Command manual() {
  return {"man",
          "manual pages",
          "Opens the manual page of npgpu, or of one of its commands. In a pipe or a file it is as man reads it. "
          "cmake --install installs all.",
          {"COMMAND"},
          {"npgpu man transfer", "npgpu man transfer > npgpu-transfer.1"},
          {},
          run_man};
}

const Joined<ListedCommand> listed_manual({Asks::also, 5, manual});

}  // namespace npgpu::cli
