#include "netpipe/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <ostream>
#include <ranges>
#include <sstream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/files/input.hpp"
#include "netpipe/report/layout.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

extern char** environ;

namespace npgpu::cli {

namespace po = boost::program_options;

namespace {

// They say where results go or how they look, not what is measured.
constexpr std::string_view not_of_the_plan[] = {"output",      "force",      "resume",    "quiet",  "progress",
                                                "json",        "dry-run",    "config",    "help",   "junit",
                                                "openmetrics", "exit-codes", "reference", "expect", "all"};

// Their files are written; of all but the first in addition to what is printed.
constexpr std::string_view of_outputs[] = {"output", "html", "share", "chrome", "junit", "openmetrics", "csv"};

// Positional arguments of a command with sides, and what stands for "--" among them: no file is called so.
constexpr const char* side_words = "side words";
constexpr const char* side_mark = "\n--";

// Whether both would be the same plain file.
bool is_one_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  if (a.empty() || b.empty()) return false;
  if (!std::filesystem::exists(a, error))
    return std::filesystem::weakly_canonical(std::filesystem::absolute(a, error), error) ==
           std::filesystem::weakly_canonical(std::filesystem::absolute(b, error), error);
  return std::filesystem::is_regular_file(a, error) && std::filesystem::equivalent(a, b, error);
}

// What follows the dash of the word of which Boost took the first letters for an option: "level" of -level.
std::optional<std::string> after_one_dash(const Arguments& words, const std::string& typed) {
  for (const std::string& word : words)
    if (word.starts_with('-' + typed) && !word.starts_with("--")) return word.substr(1, word.find('=') - 1);
  return std::nullopt;
}

// ---- variables of the environment whose names begin with NPGPU_: options, and which libraries are taken ----

constexpr std::string_view prefix = "NPGPU_";

// Read where a library is looked for; as options are written.
constexpr const char* of_libraries[] = {"blas", "cublas", "cublaslt",    "devices",
                                        "nccl", "opencl", "mpi-library", "ucx-library"};

std::string variable_of_option(std::string option) {
  for (char& c : option) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::string(prefix) + option;
}

// NPGPU_DRY_RUN is dry-run; empty if it is no name of ours.
std::string option_of_variable(const std::string& variable) {
  if (variable.rfind(prefix, 0) != 0) return {};
  std::string option = variable.substr(prefix.size());
  for (char& c : option) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return option;
}

}  // namespace

Options::Options(const Command& command) : command_(command), groups_(command.groups) {
  groups_.push_back({"General", {"config", "help"}});
  for (const OptionGroup& group : groups_)
    for (const Option& option : group.options) {
      options_.push_back(option);
      names_.push_back(option.name);
    }
}

void Options::refuse(const std::string& what) const {
  throw Error(ErrorKind::usage, what + " (" + called() + " help " + command_.name + ")");
}

bool Options::is_option(const std::string& name) const { return std::ranges::find(names_, name) != names_.end(); }

// "--code" is "--code=cuda" where none of its words follows.
void Options::complete(Arguments& words) const {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const auto is_it = [&](const Option& option) { return words[i] == "--" + option.name; };
    const auto option = std::ranges::find_if(options_, is_it);
    if (option == options_.end()) continue;
    const Meaning& meaning = glossary().at(option->name);
    if (meaning.alone.empty()) continue;
    const std::vector<std::string> known = words_of(*option);
    if (i + 1 == words.size() || std::ranges::find(known, words[i + 1]) == known.end())
      words[i] += fmt::format("={}", meaning.alone);
  }
}

bool Options::read(const Arguments& arguments) {
  po::options_description known;
  for (const Option& option : options_) {
    const Meaning& meaning = glossary().at(option.name);
    const std::string names = meaning.letter ? option.name + ',' + meaning.letter : option.name;
    if (option.value().empty()) {
      known.add_options()(names.c_str(), po::bool_switch());
    } else if (meaning.repeats) {
      known.add_options()(names.c_str(), po::value<std::vector<std::string>>());
    } else {
      auto* value = po::value<std::string>();
      if (option.standard) value->default_value(*option.standard);
      known.add_options()(names.c_str(), value);
    }
  }
  po::options_description parsed;
  parsed.add(known);
  po::positional_options_description order;
  Arguments words = arguments;
  complete(words);
  if (command_.sides) {
    std::ranges::replace(words, std::string("--"), std::string(side_mark));
    parsed.add_options()(side_words, po::value<std::vector<std::string>>(), "");
    order.add(side_words, -1);
  }
  for (const std::string& place : command_.sides ? std::vector<std::string>{} : command_.places) {
    if (place.ends_with("...")) parsed.add_options()(place.c_str(), po::value<std::vector<std::string>>(), "");
    else parsed.add_options()(place.c_str(), po::value<std::string>(), "");
    order.add(place.c_str(), place.ends_with("...") ? -1 : 1);
  }
  const auto style = static_cast<po::command_line_style::style_t>(po::command_line_style::unix_style &
                                                                  ~po::command_line_style::allow_guessing);
  try {
    po::store(po::command_line_parser(words).options(parsed).positional(order).style(style).run(), values_);
    if (on("help")) return false;
    for (const Option& option : options_)
      if (has(option.name) && !values_[option.name].defaulted()) typed_.insert(option.name);
    const auto of_variable = [&](const std::string& variable) {
      const std::string option = option_of_variable(variable);
      const char* const value = std::getenv(variable.c_str());
      const bool is_set = value && *value;  // an empty one is as one that is not there
      return is_set && is_option(option) && option != "help" ? option : std::string();
    };
    po::store(po::parse_environment(known, of_variable), values_);
    if (const auto path = maybe("config")) read_file(*path, known);
    po::notify(values_);
    refuse_no_quantities();
    refuse_one_file_for_two();
    hint_at_variables(std::cerr);
  } catch (const po::unknown_option& e) {
    std::string typed = e.get_option_name();
    typed = typed.substr(0, typed.find('='));  // some versions of Boost name the value too
    typed.erase(0, typed.find_first_not_of('-'));
    if (const auto word = after_one_dash(words, typed)) refuse_short(*word);
    refuse(fmt::format("unknown option '--{}'{}", typed, suggestion(typed, names_, "--")));
  } catch (const po::too_many_positional_options_error&) {
    const std::vector<std::string> bare = bare_words(words);
    const std::string surplus = bare.size() > command_.places.size() ? bare[command_.places.size()] : "";
    if (!command_.places.empty()) refuse(fmt::format("'{}' is one argument too many for '{}'", surplus, command_.name));
    refuse(fmt::format("'{}' takes options only, and '{}' is none{}", command_.name, surplus,
                       is_option("trace") ? "; to read a trace: --trace " + surplus : ""));
  } catch (const po::error& e) {
    refuse(e.what());
  }
  return true;
}

void Options::refuse_short(const std::string& word) const {
  std::error_code ignored;
  const bool is_file = std::filesystem::exists('-' + word, ignored);
  refuse(fmt::format("unknown option '-{}'{}", word,
                     is_file           ? "; the file of that name is ./-" + word
                     : word.size() > 1 ? suggestion(word, names_, "--")
                                       : ""));
}

std::vector<std::string> Options::bare_words(const Arguments& words) const {
  std::vector<std::string> bare;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto is_it = [&](const Option& option) {
      const char letter = glossary().at(option.name).letter;
      return words[i] == "--" + option.name || (letter && words[i] == std::string("-") + letter);
    };
    const auto option = std::ranges::find_if(options_, is_it);
    if (option != options_.end()) i += glossary().at(option->name).value.empty() ? 0 : 1;
    else if (!words[i].starts_with("-")) bare.push_back(words[i]);
  }
  return bare;
}

void Options::read_file(const std::string& path, const po::options_description& known) {
  std::istringstream file(files::read_input("--config", path, {.bytes = files::max_settings_bytes}));
  try {
    po::parsed_options parsed = po::parse_config_file(file, known, true);
    std::vector<po::option> mine;
    for (po::option& one : parsed.options) {
      if (const std::size_t dot = one.string_key.find('.'); dot != std::string::npos) {
        const std::string section = one.string_key.substr(0, dot);
        one.string_key.erase(0, dot + 1);
        if (section != command_.name) {
          const auto names = command_names();
          if (std::ranges::find(names, section) == names.end())
            throw Error(ErrorKind::usage,
                        fmt::format("{}: [{}] is no command{}", path, section, suggestion(section, names, "")));
          continue;
        }
      }
      if (!is_option(one.string_key))
        throw Error(ErrorKind::usage,
                    fmt::format("{}: '{}' is no option of '{}'{}; put it under a [section] of the command it is for",
                                path, one.string_key, command_.name, suggestion(one.string_key, names_, "")));
      one.unregistered = false;
      mine.push_back(one);
    }
    parsed.options = mine;
    po::store(parsed, values_);
  } catch (const po::error& e) {
    throw Error(ErrorKind::usage, path + ": " + e.what());
  }
}

// Values that are none of their kind, also of options that have no use in this run. Which of them a command can do with
// is its own business.
void Options::refuse_no_quantities() const {
  constexpr double largest = std::numeric_limits<double>::max();
  for (const Option& option : options_) {
    const Meaning& meaning = glossary().at(option.name);
    if (meaning.value.empty() || meaning.repeats || !has(option.name)) continue;
    const std::string value = text(option.name);
    if (meaning.value == "TIME") parse_duration(option.name, value, Seconds{0});
    else if (meaning.value == "SIZE") parse_size(option.name, value);
    else if (meaning.value == "N") parse_count(option.name, value, 0);
    else if (meaning.value == "SHARE") parse_fraction(option.name, value);
    else if (meaning.value == "T" || meaning.value == "RATE") parse_number(option.name, value, 0, largest);
  }
}

void Options::refuse_one_file_for_two() const {
  for (const std::string_view output : of_outputs) {
    const std::string name(output);
    const auto path = is_option(name) ? maybe(name) : std::nullopt;
    if (!path) continue;
    for (const Option& other : options_) {
      const Meaning& meaning = glossary().at(other.name);
      if (other.name == name || meaning.value != "FILE" || meaning.repeats) continue;
      const auto same = maybe(other.name);
      if (!same) continue;
      const bool is_output = std::ranges::find(of_outputs, other.name) != std::end(of_outputs);
      if (is_standard_output(*path) ? is_output && is_standard_output(*same) : is_one_file(*path, *same))
        refuse(fmt::format("--{} and --{} name one file, '{}'", name, other.name, *path));
    }
  }
}

std::vector<std::string> Options::files_beside() const {
  std::vector<std::string> paths;
  for (const std::string_view output : of_outputs | std::views::drop(1))
    if (const auto path = is_option(std::string(output)) ? maybe(std::string(output)) : std::nullopt)
      paths.push_back(*path);
  return paths;
}

std::optional<std::string> Options::maybe(const std::string& option) const {
  if (!has(option)) return std::nullopt;
  return text(option);
}

std::vector<std::string> Options::texts(const std::string& option) const {
  return has(option) ? values_[option].as<std::vector<std::string>>() : std::vector<std::string>{};
}

std::string Options::place(const std::string& name) const {
  if (!has(name)) refuse(fmt::format("'{}' needs {}", command_.name, name));
  return text(name);
}

std::vector<std::string> Options::places(const std::string& name) const {
  if (!has(name)) refuse(fmt::format("'{}' needs {}", command_.name, name));
  return texts(name);
}

std::pair<std::vector<std::string>, std::vector<std::string>> Options::sides() const {
  std::vector<std::string> a = texts(side_words), b;
  const auto mark = std::ranges::find(a, side_mark);
  if (mark != a.end()) {
    b.assign(mark + 1, a.end());
    a.erase(mark, a.end());
  } else if (a.size() > 2) {
    refuse(fmt::format("'{}' takes two traces, or several on each side of '--'", command_.name));
  } else if (a.size() == 2) {
    b.push_back(a.back());
    a.pop_back();
  }
  if (a.empty() || b.empty()) refuse(fmt::format("'{}' needs {}", command_.name, a.empty() ? "A and B" : "B"));
  if (std::ranges::find(b, side_mark) != b.end()) refuse("more than one '--'");
  return {a, b};
}

void hint_at_variables(std::ostream& out) {
  std::vector<std::string> known(std::begin(of_libraries), std::end(of_libraries));
  for (const auto& [name, meaning] : glossary()) known.emplace_back(name);
  constexpr std::size_t shortest = 5;  // BASE, BIN and DIR are near too much
  for (char** entry = environ; *entry; ++entry) {
    const std::string text(*entry), variable = text.substr(0, text.find('=')), typed = option_of_variable(variable);
    if (typed.size() < shortest || std::ranges::find(known, typed) != known.end()) continue;
    if (const auto near = closest(typed, known))
      out << fmt::format("npgpu: the variable {} means nothing; did you mean {}?\n", one_line(variable),
                         variable_of_option(*near));
  }
}

std::string Option::value() const { return one_value.empty() ? std::string(glossary().at(name).value) : one_value; }

std::string help_of(const Option& option, std::size_t width) {
  constexpr std::size_t column = 24;  // where the sentences begin
  const Meaning& meaning = glossary().at(option.name);
  std::string left = meaning.letter ? fmt::format("  -{}, --", meaning.letter) : "  --";
  left += option.name;
  if (const std::string value = option.value(); !value.empty()) left += ' ' + value;
  // A word that is a flag elsewhere has a meaning of its own here.
  const bool is_flag_elsewhere = meaning.value.empty() && !option.one_value.empty();
  std::string right = is_flag_elsewhere ? "" : meaning.text;
  if (!option.note.empty()) right += (right.empty() ? "" : " ") + option.note;
  if (option.standard) right += " Default: " + *option.standard + '.';
  return (left.size() + 2 > column ? left + '\n' + std::string(column, ' ') : fmt::format("{:<{}}", left, column)) +
         wrapped(right, width, column, column) + '\n';
}

namespace {

// An option that every measuring command has, and that means something else in this one.
bool differs_from_all(const Option& option) {
  for (const OptionGroup& group : options_of_all())
    for (const Option& one : group.options)
      if (one.name == option.name) return one.note != option.note || one.standard != option.standard;
  return false;
}

// Lines that begin with spaces are items of a list.
std::string wrapped_lines(const std::string& about, std::size_t width) {
  std::istringstream lines(about);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    text += std::string(indent, ' ') + wrapped(line, width, 2 * indent, indent) + '\n';
  }
  return text;
}

}  // namespace

std::string Options::help(std::size_t width) const {
  std::string text = "Usage: npgpu " + command_.name;
  for (const std::string& place : command_.places) text += ' ' + place;
  text += " [options]\n\n" + wrapped_lines(command_.about, width);
  std::string of_all;
  for (const OptionGroup& group : groups_) {
    std::string lines;
    for (const Option& option : group.options) {
      if (!group.of_all || differs_from_all(option)) lines += help_of(option, width);
      if (group.of_all) of_all += (of_all.empty() ? "--" : " --") + option.name;
    }
    if (!lines.empty()) text += fmt::format("\n{}:\n", group.title) + lines;
  }
  if (!of_all.empty())
    text += "\nOptions of every measuring command (npgpu help measuring):\n  " + wrapped(of_all, width, 2, 2) + '\n';
  text += "\nExamples:\n";
  for (const std::string& example : command_.examples) text += "  " + example + '\n';
  return text;
}

std::string Options::plan() const {
  std::string text = command_.name;
  for (const std::string& place : command_.sides ? std::vector<std::string>{} : command_.places)
    if (has(place) && !place.ends_with("...")) text += ' ' + this->text(place);
  for (const Option& option : options_) {
    if (std::ranges::find(not_of_the_plan, option.name) != std::end(not_of_the_plan)) continue;
    const Meaning& meaning = glossary().at(option.name);
    if (meaning.value.empty()) {
      if (on(option.name)) text += " --" + option.name;
    } else if (const auto value = maybe(option.name); value && value != option.standard) {
      text += fmt::format(" --{} {}", option.name, *value);
    }
  }
  return text;
}

}  // namespace npgpu::cli
