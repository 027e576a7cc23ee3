#include "probes/latency/chase.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace chase_test {

using namespace npgpu;

TEST_CASE("an order visits every line once, and stays in a window until it is done") {
  for (const std::uint64_t lines : {1, 7, 64, 1000}) {
    const auto order = chase::random_order(lines, 64, 1);
    CHECK(std::set<std::uint32_t>(order.begin(), order.end()).size() == lines);
    CHECK(order.size() == lines);
    CHECK(*std::max_element(order.begin(), order.end()) == lines - 1);
    unsigned moves = 0;
    for (std::size_t i = 1; i < order.size(); ++i) moves += order[i] / 64 != order[i - 1] / 64;
    CHECK(moves == (lines - 1) / 64);
  }
}

TEST_CASE("an order is random, and the same for the same seed") {
  const auto order = chase::random_order(4096, 2048, 1);
  CHECK(order == chase::random_order(4096, 2048, 1));
  CHECK(order != chase::random_order(4096, 2048, 2));
  unsigned steps_ahead = 0;
  for (std::size_t i = 1; i < order.size(); ++i) steps_ahead += order[i] == order[i - 1] + 1;
  CHECK(steps_ahead < 20);  // about 2 by chance; 4095 if it were not shuffled
}

TEST_CASE("a walk goes once around, and its check knows every place") {
  const std::uint64_t lines = 100;
  std::vector<std::byte> memory(lines * chase::line_bytes);
  const auto order = chase::random_order(lines, 64, 1);
  chase::link(memory.data(), order);
  const void* start = memory.data() + order[0] * chase::line_bytes;
  for (const std::uint64_t loads : {0, 1, 8, 13, 99}) {
    CAPTURE(loads);
    const void* at = chase::walk(start, loads);
    CHECK(at == memory.data() + order[loads] * chase::line_bytes);
    CHECK_FALSE(chase::check(memory.data(), order, loads, at));
    CHECK(chase::check(memory.data(), order, loads + 1, at));
  }
  CHECK(chase::walk(start, lines) == start);
  CHECK_FALSE(chase::check(memory.data(), order, 5 * lines, start));
}

TEST_CASE("a chain that skips one line is seen") {
  const auto order = chase::random_order(16, 64, 1);
  std::vector<std::byte> memory(16 * chase::line_bytes);
  auto skipping = order;
  skipping.erase(skipping.begin() + 5);
  chase::link(memory.data(), skipping);
  const void* at = chase::walk(memory.data() + order[0] * chase::line_bytes, 1024);
  CHECK(chase::check(memory.data(), order, 1024, at));
}

}  // namespace chase_test
