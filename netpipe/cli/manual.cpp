// npgpu man: manual pages in man(7)'s language, generated from the commands and the glossary.
#include <fmt/format.h>

#include <iostream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/glossary.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

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
         "command "
         "line comes first, then variables, then the file of \\-\\-config.\n.SH EXIT STATUS\n";
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

int run_man(const Options& options) {
  const auto name = options.maybe("COMMAND");
  if (!name) page_of_all(std::cout);
  else page_of(std::cout, command_named(*name));
  return exit_code::done;
}

}  // namespace

Command manual() {
  return {"man",
          "manual pages",
          "Prints the manual page of npgpu, or of one of its commands, as man reads it: npgpu man transfer | man -l -. "
          "cmake --install installs all.",
          {"COMMAND"},
          {"npgpu man > npgpu.1", "npgpu man transfer > npgpu-transfer.1"},
          {},
          run_man};
}

const Joined<ListedCommand> listed_manual({23, manual});

}  // namespace npgpu::cli
