// What every answer has to keep, whatever it was asked.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "fuzz.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu::fuzz {

Answer answer_to(const Arguments& arguments) {
  std::ostringstream out, err;
  std::streambuf *const stdout_now = std::cout.rdbuf(out.rdbuf()), *const stderr_now = std::cerr.rdbuf(err.rdbuf());
  Answer answer;
  answer.code = cli::run(arguments);
  std::cout.rdbuf(stdout_now);
  std::cerr.rdbuf(stderr_now);
  std::cout.clear();
  return {answer.code, out.str(), err.str()};
}

namespace {

std::string near(const std::string& text, std::size_t at) {
  const std::size_t from = at > 40 ? at - 40 : 0;
  return one_line(text.substr(from, 100));
}

// As one_line() of report.hpp has it, but for line ends.
std::optional<std::string> raw_bytes_in(const std::string& text, const char* where) {
  const std::string plain = printable(text);
  if (plain == text) return std::nullopt;
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(text, plain).in1 - text.begin());
  return fmt::format("{} holds what a terminal acts on: {}", where, near(text, at));
}

bool is_number(std::string_view cell) {
  if (cell == "-" || cell == "+") return true;
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0;
  return std::from_chars(cell.data(), cell.data() + cell.size(), value).ptr == cell.data() + cell.size();
}

std::optional<std::string> flaw_of_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') cell += text[++i];
      else if (c == '"') quoted = false;
      else cell += c;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      rows.back().push_back(std::exchange(cell, {}));
      if (c == '\n') rows.emplace_back();
    } else {
      cell += c;
    }
  }
  rows.pop_back();
  if (quoted) return "a quote of CSV is not closed";
  for (const auto& row : rows) {
    if (row.size() != rows.front().size())
      return fmt::format("a row of CSV has {} cells, the header {}", row.size(), rows.front().size());
    for (const std::string& one : row)
      if (one.find_first_of("=+-@\t\r") == 0 && !is_number(one)) return "a cell of CSV is a formula: " + one_line(one);
  }
  return std::nullopt;
}

std::optional<std::string> flaw_of_json(const std::string& text, const char* where) {
  if (text.empty() || nlohmann::json::accept(text)) return std::nullopt;
  return std::string(where) + " is no JSON";
}

std::optional<std::string> flaw_of_markdown(const std::string& text) {
  std::istringstream lines(text);
  std::size_t before = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t cells = 0;
    if (line.starts_with('|'))
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\') ++i;
        else cells += line[i] == '|';
      }
    if (cells && before && cells != before) return "a row of a Markdown table has other cells: " + one_line(line);
    before = cells;
  }
  return std::nullopt;
}

std::optional<std::string> flaw_of_metrics(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') ++i;
      else if (line[i] == '"') quoted = !quoted;
    }
    const std::size_t value = line.rfind("} ");
    if (quoted || (!line.starts_with("npgpu_")) ||
        !is_number(value == std::string::npos ? line.substr(line.find(' ') + 1) : line.substr(value + 2)))
      return "a line of OpenMetrics is none: " + one_line(line);
  }
  return std::nullopt;
}

// Messages of the standard library and of others: nobody wrote them for who reads them.
std::optional<std::string> internal_words_in(const std::string& err) {
  static const std::vector<std::string> words{"basic_string",
                                              "_M_",
                                              "vector::",
                                              "stoi",
                                              "stol",
                                              "stod",
                                              "map::at",
                                              "std::",
                                              "bad_",
                                              "json.exception",
                                              "filesystem error",
                                              "out of host memory",
                                              "boost::",
                                              "invalid argument",
                                              "length_error",
                                              "array::at",
                                              "optional",
                                              "variant"};
  for (const std::string& word : words)
    if (err.find(word) != std::string::npos && err.find(word + "=") == std::string::npos)
      return "speaks of its inside: " + one_line(err.substr(0, 300));
  return std::nullopt;
}

std::optional<std::string> flaw_of_file(const std::string& name, const std::string& text) {
  if (auto flaw = raw_bytes_in(text, name.c_str())) return flaw;
  const bool is_markup = name.ends_with(".html") || name.ends_with(".xml");
  if (is_markup && text.find("<evil") != std::string::npos) return name + " holds foreign markup";
  if (name.ends_with(".prom")) return flaw_of_metrics(text);
  if (name.ends_with(".json")) return flaw_of_json(text, name.c_str());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> flaw_of(const Arguments& arguments, const Answer& answer) {
  static const std::set<int> codes{0, 1, 2, 3, 4, 5, 6, 7, 8, 75, 77};
  if (!codes.contains(answer.code)) return fmt::format("exit code {}", answer.code);
  const std::string command = arguments.empty() ? "" : arguments.front();
  const bool is_script = command == "completion" || command == "manual";
  if (!is_script)
    if (auto flaw = raw_bytes_in(answer.out, "standard output")) return flaw;
  if (auto flaw = raw_bytes_in(answer.err, "standard error")) return flaw;
  if (auto flaw = internal_words_in(answer.err)) return flaw;
  const bool is_done = answer.code != 1 && answer.code != 2;
  if (answer.code == 2 && answer.err.empty() && answer.out.empty()) return "refuses, and does not say what";
  const bool is_help = has(arguments, "--help");
  if (is_done && !is_help && has(arguments, "--json"))
    if (auto flaw = flaw_of_json(answer.out, "standard output")) return flaw;
  if (is_done && !is_help &&
      ((has(arguments, "--csv") && has(arguments, "-")) || (command == "export" && !has(arguments, "--format"))))
    if (auto flaw = flaw_of_csv(answer.out)) return flaw;
  if (is_done && !is_help && has(arguments, "--markdown")) {
    if (answer.out.find("<evil") != std::string::npos) return "Markdown holds foreign markup";
    if (auto flaw = flaw_of_markdown(answer.out)) return flaw;
  }
  std::error_code ignored;  // a name may be too long
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
    if ((arguments[i] == "--html" || arguments[i] == "--junit" || arguments[i] == "--openmetrics" ||
         arguments[i] == "--keep") &&
        is_done && !is_help && std::filesystem::exists(arguments[i + 1], ignored))
      if (auto flaw = flaw_of_file(arguments[i + 1], read(arguments[i + 1]))) return flaw;
  return std::nullopt;
}

}  // namespace npgpu::fuzz
