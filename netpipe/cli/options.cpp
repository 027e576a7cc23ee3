#include "netpipe/cli/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

constexpr unsigned help_width = 100;

// NPGPU_DRY_RUN -> dry-run; empty if it is not one of ours.
std::string option_of_variable(const std::string& variable) {
  constexpr std::string_view prefix = "NPGPU_";
  if (variable.rfind(prefix, 0) != 0) return {};
  std::string option = variable.substr(prefix.size());
  for (char& c : option) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return option;
}

}  // namespace

po::typed_value<std::string>* word() { return po::value<std::string>(); }
po::typed_value<std::string>* word(const std::string& standard) {
  return po::value<std::string>()->default_value(standard);
}

Options::Options(std::string command, std::string usage, std::string about, std::vector<std::string> places)
    : command_(std::move(command)), usage_(std::move(usage)), about_(std::move(about)), places_(std::move(places)) {}

po::options_description& Options::group(const std::string& title) {
  groups_.push_back(std::make_unique<po::options_description>(title, help_width, help_width / 2));
  return *groups_.back();
}

po::options_description Options::all() const {
  po::options_description everything(help_width, help_width / 2);
  for (const auto& one : groups_) everything.add(*one);
  return everything;
}

bool Options::read(const std::vector<std::string>& arguments) {
  group("General").add_options()
      ("config", word(), "INI file: keys are long options; a [section] is for the command of that name")
      ("help", po::bool_switch(), "this text");
  po::options_description shown = all();
  po::options_description parsed = all();
  po::positional_options_description order;
  for (const std::string& place : places_) {
    parsed.add_options()(place.c_str(), word(), "");
    order.add(place.c_str(), 1);
  }
  const auto style = static_cast<po::command_line_style::style_t>(po::command_line_style::unix_style &
                                                                  ~po::command_line_style::allow_guessing);
  try {
    po::store(po::command_line_parser(arguments).options(parsed).positional(order).style(style).run(), values_);
    if (on("help")) {
      std::cout << usage_ << "\n\n" << about_ << "\n\n" << shown;
      return false;
    }
    read_environment(parsed);
    read_file(parsed);
    po::notify(values_);
  } catch (const po::error& e) {
    std::string what = e.what();
    if (dynamic_cast<const po::too_many_positional_options_error*>(&e))
      what = places_.empty() ? "'" + command_ + "' takes options only, no bare words"
                             : "too many arguments for '" + command_ + "'";
    throw Error(ErrorKind::usage, what + " (see npgpu " + command_ + " --help)");
  }
  return true;
}

void Options::read_environment(const po::options_description& known) {
  const auto mapper = [&](const std::string& variable) {
    const std::string option = option_of_variable(variable);
    return !option.empty() && known.find_nothrow(option, false) && option != "help" ? option : std::string();
  };
  po::store(po::parse_environment(known, mapper), values_);
}

void Options::read_file(const po::options_description& known) {
  if (!has("config")) return;
  const std::string path = text("config");
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::usage, "--config: cannot read '" + path + "'");
  try {
    po::parsed_options parsed = po::parse_config_file(file, known, true);
    std::vector<po::option> mine;
    for (po::option& one : parsed.options) {
      const std::size_t dot = one.string_key.find('.');
      if (dot != std::string::npos) {
        if (one.string_key.substr(0, dot) != command_) continue;  // another command's section
        one.string_key.erase(0, dot + 1);
      }
      if (!known.find_nothrow(one.string_key, false))
        throw Error(ErrorKind::usage, path + ": '" + one.string_key + "' is no option of '" + command_ +
                                          "' (put it under a [section] of the command it is for)");
      one.unregistered = false;
      mine.push_back(one);
    }
    parsed.options = mine;
    po::store(parsed, values_);
  } catch (const po::error& e) {
    throw Error(ErrorKind::usage, path + ": " + e.what());
  }
}

std::optional<std::string> Options::maybe(const std::string& option) const {
  if (!has(option)) return std::nullopt;
  return text(option);
}

std::string Options::place(const std::string& name) const {
  if (!has(name))
    throw Error(ErrorKind::usage, "'" + command_ + "' needs " + name + ": " + usage_);
  return text(name);
}

}  // namespace npgpu::cli
