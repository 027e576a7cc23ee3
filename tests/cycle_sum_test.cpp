// What walks in circles must have summed: a formula, compared with walking.
#include "probes/walks.hpp"

#include <doctest/doctest.h>

namespace cycle_sum_test {

using namespace npgpu;

TEST_CASE("the sum below a number, also where it is odd, even, nothing or wraps") {
  CHECK(sum_below(0) == 0);
  CHECK(sum_below(1) == 0);
  CHECK(sum_below(2) == 1);
  CHECK(sum_below(5) == 10);
  CHECK(sum_below(6) == 15);
  // 2^33 * (2^33 - 1) / 2 = 2^65 - 2^32, of which 2^64 - 2^32 is left modulo 2^64.
  CHECK(sum_below(std::uint64_t{1} << 33) == ~std::uint64_t{0} - ((std::uint64_t{1} << 32) - 1));
}

TEST_CASE("a walk in a circle, from any place, over any number of rounds and parts of one") {
  for (const std::uint64_t size : {1u, 2u, 3u, 7u, 16u})
    for (std::uint64_t first = 0; first < size; ++first) {
      std::uint64_t walked = 0;
      for (std::uint64_t count = 0; count < 3 * size + 2; ++count) {
        CAPTURE(size);
        CAPTURE(first);
        CAPTURE(count);
        CHECK(sum_of_cycle(first, count, size) == walked);
        walked += (first + count) % size;
      }
    }
}

TEST_CASE("pattern words are linear in their place, modulo 2^32") {
  CHECK(pattern_word(0) == 0);
  CHECK(pattern_word(5) + pattern_word(9) == pattern_word(14));
  CHECK(static_cast<std::uint32_t>(3 * pattern_word(1000000007)) == pattern_word(3000000021));
}

}  // namespace cycle_sum_test
