// Options of one command, from the command line, then NPGPU_* variables, then an INI file.
// Long options only in full, plus the few short ones declared. The only header with Boost.ProgramOptions in it.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

namespace npgpu::cli {

namespace po = boost::program_options;

class Options {
 public:
  // `usage`: "npgpu report TRACE [options]". `places`: names of positional arguments, in order.
  Options(std::string command, std::string usage, std::string about, std::vector<std::string> places = {});

  // A group of options in --help: add to what it returns.
  po::options_description& group(const std::string& title);

  // Reads everything. False if --help was asked for and printed. Throws Error(usage).
  bool read(const std::vector<std::string>& arguments);

  bool has(const std::string& option) const { return values_.count(option) > 0; }
  bool on(const std::string& flag) const { return has(flag) && values_[flag].as<bool>(); }
  std::string text(const std::string& option) const { return values_[option].as<std::string>(); }
  std::optional<std::string> maybe(const std::string& option) const;
  // A positional argument; throws Error(usage) naming it if it is not there.
  std::string place(const std::string& name) const;

 private:
  po::options_description all() const;
  void read_environment(const po::options_description&);
  void read_file(const po::options_description&);

  std::string command_, usage_, about_;
  std::vector<std::string> places_;
  std::vector<std::unique_ptr<po::options_description>> groups_;
  po::variables_map values_;
};

// A string option, with its default shown in --help.
po::typed_value<std::string>* word();
po::typed_value<std::string>* word(const std::string& standard);

}  // namespace npgpu::cli
