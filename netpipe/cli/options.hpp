// Options of one command, from the command line, then NPGPU_* variables, then an INI file. Long options only in full.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace npgpu::cli {

using Arguments = std::vector<std::string>;

class Options;

// An option of the glossary as a command has it.
struct Option {
  Option(const char* named, std::optional<std::string> by_default = {}, std::string remark = {},
         std::string_view one = {})
      : name(named), standard(std::move(by_default)), note(std::move(remark)), one_value(one) {}
  std::string value() const;  // its placeholder in help: "SIZE"; empty where it takes none
  std::string name;
  std::optional<std::string> standard;  // what it is if not given
  std::string note;                     // a sentence that holds for this command only
  std::string one_value;                // the placeholder where this command takes one value, and others a list
};
struct OptionGroup {
  std::string title;  // in the help text
  std::vector<Option> options;
  bool of_all = false;  // every measuring command has them: `npgpu help measuring` explains them once
};

// One file a command. Its run() returns an exit code or throws Error.
struct Command {
  std::string name;
  std::string summary;              // one line
  std::string about;                // sentences
  std::vector<std::string> places;  // positional arguments, in order: TRACE; of one that ends in ... there may be many
  std::vector<std::string> examples;
  std::vector<OptionGroup> groups;
  int (*run)(const Options&) = nullptr;
  bool sides = false;  // its positional arguments are two groups of words: A B, or A... -- B...; `places` is for help
};

class Options {
 public:
  explicit Options(const Command&);

  // Reads everything. False if help was asked for. Throws Error(usage).
  bool read(const Arguments&);

  bool has(const std::string& option) const { return values_.count(option) > 0; }
  // On the command line: neither by default, nor by a variable or a file, which hold for all runs.
  bool typed(const std::string& option) const { return typed_.contains(option); }
  bool on(const std::string& flag) const { return has(flag) && values_[flag].as<bool>(); }
  std::string text(const std::string& option) const { return values_[option].as<std::string>(); }
  std::optional<std::string> maybe(const std::string& option) const;
  // All values of an option that may be repeated.
  std::vector<std::string> texts(const std::string& option) const;
  // A positional argument; throws Error(usage) naming it if it is not there.
  std::string place(const std::string& name) const;
  // The words of the place that ends in `...`; throws Error(usage) naming it if there is none.
  std::vector<std::string> places(const std::string& name) const;
  // The words of both sides of a command that has them. Throws Error(usage) if a side has none, or it is not clear to
  // which one a word belongs.
  std::pair<std::vector<std::string>, std::vector<std::string>> sides() const;

  std::string help(std::size_t width) const;
  // Names of the files that are written in addition to what is printed.
  std::vector<std::string> files_beside() const;
  // What was asked to be measured, in one line: "transfer --device host --sizes 8,64". Options that say where results
  // go are left out, and so is what the command would have done anyway.
  std::string plan() const;
  const std::vector<std::string>& names() const { return names_; }  // of all options
  const std::vector<OptionGroup>& groups() const { return groups_; }

 private:
  void complete(Arguments&) const;
  bool is_option(const std::string& name) const;
  void refuse_no_quantities() const;
  void refuse_one_file_for_two() const;
  void read_file(const std::string& path, const boost::program_options::options_description& known);
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_short(const std::string& word) const;  // "v" of -v
  std::vector<std::string> bare_words(const Arguments&) const;    // that are no option's value

  const Command& command_;
  std::vector<OptionGroup> groups_;
  std::vector<Option> options_;  // of all groups
  std::vector<std::string> names_;
  boost::program_options::variables_map values_;
  std::set<std::string> typed_;
};

// The lines of an option in a help text.
std::string help_of(const Option&, std::size_t width);

// What a shell or a manual page wants to know of an option, read off its sentences, so that all say the same.

// The words that the option takes: "host", "event" and "gated" of "host: the host's clock. event: ... gated: ...", or
// "a", "b" of "Kind: a, b."; none if it takes numbers, files or what else cannot be listed. A list in the sentence of
// its command goes first: that takes fewer. Modules and probes are those of this build.
std::vector<std::string> words_of(const Option&);

// Without its stop.
std::string first_sentence(const std::string& text);

// A line for each variable NPGPU_... that npgpu does not know, and that is nearly the name of one: it would have no
// effect, and nobody would notice. Others that begin so are a site's own (NPGPU_ROOT).
void hint_at_variables(std::ostream&);

// The word that `typed` was probably meant to be, whatever its case; nothing if none is near.
std::optional<std::string> closest(std::string_view typed, const std::vector<std::string>& words);

// "; did you mean '--device'?", or nothing.
std::string suggestion(std::string_view typed, const std::vector<std::string>& words, std::string_view dashes = "");

// Throws Error(usage): "--memory: 'pin' is none of pageable, pinned; did you mean 'pinned'?"
[[noreturn]] void refuse_word(std::string_view option, std::string_view typed, const std::vector<std::string>& words);

}  // namespace npgpu::cli
