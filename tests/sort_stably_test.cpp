// The order of std::stable_sort, whatever is sorted and by what.
#include "netpipe/engine/sort_stably.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

using namespace npgpu;

namespace sort_stably_test {

struct Word {
  std::string text{};
  int length = 0;
  bool operator==(const Word&) const = default;
};

TEST_CASE("what is equal keeps its order, upwards and downwards") {
  std::vector<Word> words{{"bb", 2}, {"a", 1}, {"aa", 2}, {"b", 1}, {"ccc", 3}};
  sort_stably(words, {}, &Word::length);
  CHECK(words == std::vector<Word>{{"a", 1}, {"b", 1}, {"bb", 2}, {"aa", 2}, {"ccc", 3}});
  sort_stably(words, std::ranges::greater{}, &Word::length);
  CHECK(words == std::vector<Word>{{"ccc", 3}, {"bb", 2}, {"aa", 2}, {"a", 1}, {"b", 1}});
}

TEST_CASE("it is the standard's order at each size, by a comparison of two elements") {
  std::mt19937 random(7);
  const auto shorter = [](const Word& a, const Word& b) { return a.length < b.length; };
  for (int size = 0; size < 40; ++size) {
    std::vector<Word> words;
    for (int i = 0; i < size; ++i) words.push_back({std::to_string(i), static_cast<int>(random() % 5)});
    std::vector<Word> expected = words;
    std::stable_sort(expected.begin(), expected.end(), shorter);
    sort_stably(words, shorter);
    CHECK(words == expected);
  }
}

TEST_CASE("elements are moved, and a key may be computed") {
  std::vector<std::unique_ptr<int>> owners;
  for (const int value : {3, 1, 2}) owners.push_back(std::make_unique<int>(value));
  sort_stably(owners, {}, [](const auto& one) { return *one % 3; });
  CHECK(*owners[0] == 3);
  CHECK(*owners[1] == 1);
  CHECK(*owners[2] == 2);
}

}  // namespace sort_stably_test
