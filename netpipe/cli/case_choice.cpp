#include "netpipe/cli/case_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/suggestion.hpp"
#include "npgpu/listed_error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

namespace {

std::string kind_of_choice(const std::string& word) { return word.substr(0, word.find(':')); }

}  // namespace

bool is_kind(const std::string& word) { return std::ranges::find(Kinds::names, word) != Kinds::names.end(); }

Arguments spread_cases(const Arguments& arguments) {
  Arguments all;
  bool after_case = false;  // the word before is a value of --case
  for (const std::string& word : arguments) {
    if (after_case && is_kind(kind_of_choice(word))) all.push_back("--case");
    else after_case = word.starts_with("--case=") || (!all.empty() && all.back() == "--case");
    all.push_back(word);
  }
  return all;
}

void choose_cases(const Options& options, Trace& trace) {
  if (!options.has("case")) return;
  struct Chosen {
    bool all = false;
    std::set<std::uint64_t> numbers;
  };
  std::map<std::string, Chosen> chosen;
  for (const std::string& text : options.texts("case")) {
    std::istringstream several(text);
    for (std::string word; several >> word;) {
      const std::string kind = kind_of_choice(word);
      if (!is_kind(kind)) refuse_word("case", kind, {Kinds::names.begin(), Kinds::names.end()});
      if (kind == word) {
        chosen[kind].all = true;
      } else {
        for (const std::string& number : split_words("case", word.substr(kind.size() + 1)))
          chosen[kind].numbers.insert(parse_count("case", number, 0));
      }
    }
  }
  for_each_kind([&]<class K>() {
    auto& all = trace.of<K>();
    const Chosen& wanted = chosen[std::string(K::name)];
    if (!wanted.numbers.empty() && *wanted.numbers.rbegin() >= all.size())
      throw ListedError(
          ErrorKind::usage,
          fmt::format("--case: there is no {}:{} in the trace, which has", K::name, *wanted.numbers.rbegin()),
          cases_of(trace));
    std::vector<Series<K>> some;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (wanted.all || wanted.numbers.count(i)) some.push_back(std::move(all[i]));
    all = std::move(some);
  });
}

std::vector<std::string> cases_of(const Trace& trace) {
  std::vector<std::string> lines;
  for_each_kind([&]<class K>() {
    for (std::size_t i = 0; i < trace.of<K>().size(); ++i)
      lines.push_back(fmt::format("{:>14}  {}", fmt::format("{}:{}", K::name, i), title(trace.of<K>()[i].question)));
  });
  if (lines.empty()) lines.emplace_back("nothing");
  return lines;
}

}  // namespace npgpu::cli
