#include "netpipe/cli/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string_view>
#include <vector>

#include "netpipe/cli/glossary.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/suggestion.hpp"
#include "npgpu/report.hpp"

extern char** environ;

namespace npgpu::cli {

namespace {

constexpr std::string_view prefix = "NPGPU_";

// Read where a library is looked for; as options are written.
constexpr const char* of_libraries[] = {"blas", "cublas", "cublaslt",    "devices",
                                        "nccl", "opencl", "mpi-library", "ucx-library"};

std::string variable_of_option(std::string option) {
  for (char& c : option) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::string(prefix) + option;
}

}  // namespace

std::string option_of_variable(const std::string& variable) {
  if (variable.rfind(prefix, 0) != 0) return {};
  std::string option = variable.substr(prefix.size());
  for (char& c : option) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return option;
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

}  // namespace npgpu::cli
