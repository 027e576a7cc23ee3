#include "netpipe/cli/option_words.hpp"

#include <regex>

#include "npgpu/module.hpp"
#include "npgpu/probe.hpp"

namespace npgpu::cli {

std::vector<std::string> words_of(std::string_view option, const Meaning& meaning) {
  std::vector<std::string> words;
  if (option == "module")
    for (const auto& module : modules()) words.emplace_back(module->name());
  if (meaning.value != "LIST" && meaning.value != "WORD" && meaning.value != "KIND" && option != "level") return words;

  static const std::regex listed(": ([a-z][a-z0-9-]*(?:(?:, | or )[a-z][a-z0-9-]*)+)\\."), word("[a-z][a-z0-9-]*"),
      explained("(?:^|\\. )([a-z0-9][a-z0-9-]*): ");
  std::smatch list;
  if (std::regex_search(meaning.text, list, listed)) {
    const std::string all = std::regex_replace(list[1].str(), std::regex(" or "), ", ");
    for (std::sregex_iterator at(all.begin(), all.end(), word), end; at != end; ++at) words.push_back(at->str());
  } else {
    for (std::sregex_iterator at(meaning.text.begin(), meaning.text.end(), explained), end; at != end; ++at)
      words.push_back((*at)[1].str());
  }
  return words;
}

std::string first_sentence(const std::string& text) {
  const std::size_t stop = text.find(". ");
  std::string sentence = text.substr(0, stop);
  if (stop == std::string::npos && sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

}  // namespace npgpu::cli
