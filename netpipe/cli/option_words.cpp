#include "netpipe/cli/option_words.hpp"

#include <algorithm>
#include <cctype>

#include "netpipe/cli/glossary.hpp"
#include "npgpu/module.hpp"

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

}  // namespace npgpu::cli
