// A walk is right if counting its steps one by one gives what its closed form says.
#include "probes/walks.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "npgpu/error.hpp"

namespace walk_test {

using namespace npgpu;

namespace {

void counted_by_hand(const Shape& shape, std::uint64_t apart) {
  const Walk walk = walk_of(shape, apart);
  CAPTURE(walk.rows);
  CAPTURE(walk.jump);
  for (const std::uint64_t steps : {std::uint64_t{0}, std::uint64_t{1}, walk.rows - 1, walk.rows, 3 * walk.rows + 2}) {
    std::vector<std::uint64_t> times(walk.rows);
    std::uint64_t row = 0;  // as a kernel does it: by adding
    for (std::uint64_t s = 0; s < steps; ++s) {
      CHECK(walk.row_of(s) == row);
      ++times[row];
      row += walk.jump;
      if (row >= walk.rows) row -= walk.rows;
    }
    for (std::uint64_t r = 0; r < walk.rows; ++r) CHECK(walk.visits(r, steps) == times[r]);
  }
}

}  // namespace

TEST_CASE("every row's visits, by walking") {
  counted_by_hand({.blocks = 2, .threads = 32, .ilp = 1, .access_bytes = 4, .bytes = 256}, 0);     // one row
  counted_by_hand({.blocks = 2, .threads = 32, .ilp = 1, .access_bytes = 4, .bytes = 512}, 4096);  // two
  counted_by_hand({.blocks = 3, .threads = 64, .ilp = 4, .access_bytes = 16, .bytes = 1 << 20}, 0);
  counted_by_hand({.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 4, .bytes = 4000}, 128);
  counted_by_hand({.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 4, .bytes = 4092}, 4096);
  counted_by_hand({.blocks = 1, .threads = 32, .ilp = 1, .access_bytes = 4, .bytes = 128 * 210}, 4096);
}

TEST_CASE("a step that waits for the last goes far, and still meets every row") {
  const Walk walk = walk_of({.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 4, .bytes = 1 << 20}, 4096);
  CHECK(walk.rows == 262144);
  CHECK(walk.jump == 1025);  // 1024 * 4 bytes would return to the same rows
}

TEST_CASE("a set is cut to whole rows, and must hold one") {
  const Walk walk = walk_of({.blocks = 3, .threads = 32, .ilp = 1, .access_bytes = 4, .bytes = 1000}, 0);
  CHECK(walk.rows == 2);
  CHECK(walk.row_accesses == 96);
  CHECK_THROWS_AS(walk_of({.blocks = 3, .threads = 32, .ilp = 1, .access_bytes = 4, .bytes = 383}, 0), Error);
  CHECK_THROWS_AS(walk_of({.blocks = 1, .threads = 1, .ilp = 1, .access_bytes = 0, .bytes = 383}, 0), Error);
}

}  // namespace walk_test
