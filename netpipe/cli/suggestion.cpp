#include "netpipe/cli/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "npgpu/error.hpp"

namespace npgpu::cli {

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
