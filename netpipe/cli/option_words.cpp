#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

bool is_word(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [](char c) {
    return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '-';
  });
}

// "a, b, c" or "a, b or c"; nothing if it is anything else.
std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size()), other = std::min(text.find(" or "), text.size());
    const std::size_t end = std::min(comma, other);
    const std::string_view word = text.substr(0, end);
    if (!is_word(word) || std::isdigit(static_cast<unsigned char>(word.front()))) return {};
    words.emplace_back(word);
    text.remove_prefix(std::min(end + (comma < other ? 2 : 4), text.size()));
  }
  return words.size() > 1 ? words : std::vector<std::string>{};
}

// "... : a, b or c."
std::vector<std::string> words_in_a_list(std::string_view text) {
  for (std::size_t colon = text.find(": "); colon != text.npos; colon = text.find(": ", colon + 1)) {
    const std::size_t stop = text.find('.', colon);
    if (stop == text.npos) break;
    if (auto words = listed(text.substr(colon + 2, stop - colon - 2)); !words.empty()) return words;
  }
  return {};
}

// "a: what it means. b, c: what they mean."
std::vector<std::string> words_explained(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view sentence = text.substr(begin);
    const std::string head(sentence.substr(0, std::min(sentence.find(": "), sentence.size())));
    if (head.size() < sentence.size())
      for (const std::string& word : is_word(head) ? std::vector{head} : listed(head))
        if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    const std::size_t next = sentence.find(". ");
    if (next == sentence.npos) break;
    begin += next + 2;
  }
  return words;
}

}  // namespace

std::vector<std::string> words_of(const Option& option) {
  const Meaning& meaning = glossary().at(option.name);
  if (option.name == "module") {
    std::vector<std::string> names;
    for (const auto& module : modules()) names.emplace_back(module->name());
    return names;
  }
  if (meaning.value != "LIST" && meaning.value != "WORD" && meaning.value != "KIND" && option.name != "level")
    return {};
  for (const std::string_view text : {std::string_view(option.note), std::string_view(meaning.text)})
    if (auto words = words_in_a_list(text); !words.empty()) return words;
  return words_explained(meaning.text);
}

std::string first_sentence(const std::string& text) {
  const std::size_t stop = text.find(". ");
  std::string sentence = text.substr(0, stop);
  if (stop == std::string::npos && sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

namespace {

// Insertions, deletions and replacements that make one word of the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

}  // namespace

std::optional<std::string> closest(std::string_view typed, const std::vector<std::string>& words) {
  const std::string small = lower(typed);
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(1, small.size() / 3) + 1;
  for (const std::string& word : words) {
    const std::string one = lower(word);
    const bool begins = small.size() >= 2 && one.starts_with(small) && one != small;
    const std::size_t far = begins ? 1 : distance(small, one);
    if (far < least) {
      best = word;
      least = far;
    }
  }
  return best;
}

std::string suggestion(std::string_view typed, const std::vector<std::string>& words, std::string_view dashes) {
  const auto near = closest(typed, words);
  return near ? fmt::format("; did you mean '{}{}'?", dashes, *near) : "";
}

void refuse_word(std::string_view option, std::string_view typed, const std::vector<std::string>& words) {
  throw Error(ErrorKind::usage, fmt::format("--{}: '{}' is none of {}{}", option, typed, fmt::join(words, ", "),
                                            suggestion(typed, words)));
}

}  // namespace npgpu::cli
