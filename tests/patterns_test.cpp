// Shapes of kernels and patterns: lists that a device must be able to take, on a large and a small one, and one that
// says nothing.
#include "probes/patterns/patterns.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "npgpu/vocabulary/questions.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probes/shapes.hpp"
#include "probes/walks.hpp"

namespace patterns_test {

using namespace npgpu;
using npgpu::Permutation;

// Which shapes the patterns have: each is one that the kernels take, on a large and a small device and on one that says
// little of itself.

namespace {

const Layout layouts[] = {
    {.units = 132,
     .lanes = 32,
     .max_threads_per_block = 1024,
     .max_blocks_per_unit = 32,
     .max_threads_per_unit = 2048,
     .cache_bytes = 60 * MiB,
     .near_cache_bytes = 256 * KiB},
    {.units = 84,
     .max_threads_per_block = 1024,
     .max_blocks_per_unit = 16,
     .max_threads_per_unit = 1536,
     .cache_bytes = 6 * MiB,
     .near_cache_bytes = 128 * KiB},
    {.units = 2, .max_threads_per_block = 1024},
};

// All shapes of all cases that a probe has, with what refuses them.
template <class Visit> void each_list(const Layout& l, Visit visit) {
  for (const char* probe : {"onchip", "access", "atomics", "divergence", "reduction", "product", "staging"}) {
    const ProbeDescription& described = description_of(probe);
    for (const ProbeCase& c : described.cases("host")) {
      visit(c, described.shapes(c, l), described.refuses);
      if (described.usual_shapes) visit(c, described.usual_shapes(c, l), described.refuses);
    }
  }
}

}  // namespace

// NVIDIA's table of compute capability 9.0: 65,536 registers, 228 KiB of shared memory, of which a block takes 1 KiB
// more than it asks for, 2048 threads and 32 blocks of a multiprocessor.
TEST_CASE("blocks at once, by hand") {
  Layout l = layouts[0];
  l.registers_per_unit = 65536;
  l.shared_bytes_per_unit = 228 * KiB;
  l.shared_bytes_per_block = 227 * KiB;
  l.shared_bytes_reserved = KiB;
  const auto blocks = [&](std::uint32_t threads, std::uint32_t registers, std::uint32_t shared) {
    return resident_blocks(l, {.threads = threads, .registers = registers, .shared_bytes = shared});
  };
  CHECK(blocks(128, 32, 0) == 16);  // 2048 threads
  CHECK(blocks(32, 32, 0) == 32);   // slots
  CHECK(blocks(128, 40, 0) == 12);  // 16384 / (40 * 32) = 12 warps of a scheduler
  CHECK(blocks(128, 41, 0) == 10);  // 48 are given out
  CHECK(blocks(128, 255, 0) == 2);
  CHECK(blocks(1024, 64, 0) == 1);
  CHECK(blocks(128, 32, 75 * KiB) == 3);
  CHECK(blocks(128, 32, 76 * KiB) == 2);
  CHECK(blocks(128, 32, 227 * KiB) == 1);
  CHECK(resident_blocks({}, {.threads = 128, .registers = 255}) == UINT32_MAX);  // a layout that says nothing
  const std::uint32_t registers[] = {20, 40, 56, 64, 255};
  const auto shapes = occupancy::shapes(l, registers);
  for (const Shape& s : shapes) {
    CHECK_FALSE(occupancy::refuses(l, s, registers));
    CHECK(s.blocks % (l.units * resident_blocks(l, s)) == 0);
  }
  CHECK(shapes.size() ==
        1 + 7 + 3);  // 1, 2, 3, 4, 6, 8 and 12 by shared memory; 56 registers leave 9 blocks, no whole wave
}

TEST_CASE("every shape is one that its kernel takes, and stands in its list once") {
  for (const Layout& l : layouts)
    each_list(l, [&](const ProbeCase& c, const std::vector<Shape>& list, auto refuses) {
      const std::string what = title(c);
      CAPTURE(what);
      CHECK(list.size() >= 1);
      CHECK(std::set<Shape>(list.begin(), list.end()).size() == list.size());
      for (const Shape& s : list) {
        const std::string shape = text_of(s);
        CAPTURE(shape);
        CHECK(refuses(c, s).value_or("") == "");
        CHECK(flaw_of(s).value_or("") == "");
        CHECK(s.threads <= l.max_threads_per_block);
        if (c.probe == "product" || (s.rung > 0 && s.rung < 7)) continue;  // a grid as large as the array
        CHECK(s.blocks % l.units == 0);
        if (l.max_threads_per_unit) CHECK(s.blocks / l.units * s.threads <= l.max_threads_per_unit);
      }
    });
}

TEST_CASE("what is measured of every device is among what is measured in all") {
  for (const Layout& l : layouts)
    for (const Space space : {Space::shared, Space::l1, Space::l2, Space::constant}) {
      const auto all = patterns::onchip_shapes({.space = space}, l);
      const auto few = patterns::usual_onchip_shapes({.space = space}, l);
      CHECK(few.size() <= 4);
      for (const Shape& s : few) CHECK(std::find(all.begin(), all.end(), s) != all.end());
    }
}

TEST_CASE("caches are asked for up to their size") {
  const auto largest = [](const std::vector<Shape>& list) { return list.back().bytes; };
  CHECK(largest(patterns::onchip_shapes({.space = Space::l1}, layouts[0])) == 256 * KiB);
  CHECK(largest(patterns::onchip_shapes({.space = Space::l2}, layouts[0])) == 60 * MiB);
  CHECK(largest(patterns::onchip_shapes({.space = Space::l2}, layouts[1])) == 6 * MiB);
}

TEST_CASE("a walk lies in its memory: the last lane's last word is below the end") {
  // 16 KiB are 4096 words. Lane 31 of stride 64 is at 1984, the last of 32 warps 31 further: 2080 words are left.
  const Shape shape{.blocks = 1, .threads = 1024, .ilp = 8, .access_bytes = 4, .bytes = 16 * KiB, .stride = 64};
  CHECK(patterns::span_words(shape, Space::shared) == 2080);
  // One warp alone, as in constant memory: 4096 - 1984 - 1 words are left, in steps of 8.
  CHECK(patterns::span_words(shape, Space::constant) == 2104);
  Shape small = shape;
  small.bytes = 8 * KiB;  // 2048 words, of which 2016 are reached at once
  CHECK(patterns::span_words(small, Space::shared) == 32);
  small.bytes = 4 * KiB;
  CHECK(patterns::span_words(small, Space::shared) == 0);
  const ProbeCase c{.probe = "onchip", .device = "host", .operation = Operation::read, .space = Space::shared};
  CHECK(patterns::refuses_onchip(c, small)->find("stride 64") != std::string::npos);
}

TEST_CASE("windows: 64 KiB in eight planes hold one window of 64 words' stride each, and 64 of stride 1") {
  Shape shape{.blocks = 1, .threads = 1024, .ilp = 8, .access_bytes = 4, .bytes = 64 * KiB, .stride = 64};
  CHECK(patterns::windows_of(shape) == 1);
  shape.stride = 1;
  CHECK(patterns::windows_of(shape) == 64);
  shape.stride = 0;
  CHECK(patterns::windows_of(shape) == 0);
}

TEST_CASE("what no kernel does is refused, in words") {
  const ProbeCase onchip{.probe = "onchip", .device = "host", .operation = Operation::read, .space = Space::l1};
  Shape wide{.blocks = 1, .threads = patterns::wide_threads, .ilp = 4, .access_bytes = 16, .bytes = 32 * KiB};
  CHECK_FALSE(patterns::refuses_onchip(onchip, wide));
  for (const auto& change : std::vector<void (*)(Shape&)>{
           [](Shape& s) { s.stride = 2; }, [](Shape& s) { s.threads = 128; }, [](Shape& s) { s.bytes = 16 * KiB; },
           [](Shape& s) { s.access_bytes = 4; }, [](Shape& s) { s.ilp = 8; }}) {
    Shape changed = wide;
    change(changed);
    CHECK(patterns::refuses_onchip(onchip, changed).has_value());
  }
  const ProbeCase access{.probe = "access", .device = "host", .operation = Operation::read, .space = Space::l2};
  const Shape words{.blocks = 1, .threads = 64, .ilp = 8, .access_bytes = 4, .bytes = MiB};
  CHECK_FALSE(patterns::refuses_access(access, words));
  for (const auto& change :
       std::vector<void (*)(Shape&)>{[](Shape& s) { s.stride = 0; }, [](Shape& s) { s.threads = 33; },
                                     [](Shape& s) { s.bytes = 2 * MiB; }, [](Shape& s) { s.offset_bytes = 2; },
                                     [](Shape& s) { s.offset_bytes = 132; }, [](Shape& s) { s.stride = 1 << 20; }}) {
    Shape changed = words;
    change(changed);
    CHECK(patterns::refuses_access(access, changed).has_value());
  }
  const auto rungs = patterns::reduction_shapes({}, layouts[0]);
  REQUIRE(rungs.size() == 8);
  CHECK(rungs[0].blocks == 3840 * MiB / 4 / 256);
  CHECK(rungs[3].blocks == 3840 * MiB / 4 / 512);
  CHECK(rungs[7].blocks == 132 * 8);
  Shape half = rungs[0];
  half.blocks /= 2;
  CHECK(patterns::refuses_reduction({}, half)->find("as large as") != std::string::npos);
  half = rungs[6];
  half.blocks /= 2;
  CHECK_FALSE(patterns::refuses_reduction({}, half));
  const auto tiles = patterns::product_shapes({}, layouts[0]);
  REQUIRE(tiles.size() == 6);
  CHECK(patterns::tile_of(tiles[0]) == 8);
  CHECK(tiles[0].blocks == 256 * 256);
  CHECK(patterns::rows_of_matrix(tiles[0]) == 2048);
  Shape odd = tiles[5];
  odd.bytes -= 4;
  CHECK(patterns::refuses_product({}, odd)->find("no square matrix") != std::string::npos);
  const Shape branch{.blocks = 1, .threads = 64, .ways = 33};
  CHECK(patterns::refuses_divergence({}, branch).has_value());
}

// Lists that a device's kernels must be able to take, whatever its layout: an H200's, a GTX 470's, one that says
// nothing.
namespace shapes {

namespace {

const Layout layouts[] = {
    {.units = 132,
     .lanes = 32,
     .max_threads_per_block = 1024,
     .max_blocks_per_unit = 32,
     .max_threads_per_unit = 2048,
     .cache_bytes = 60 * MiB,
     .memory_bytes = 140 * GiB},
    {.units = 84,
     .lanes = 32,
     .max_threads_per_block = 1024,
     .max_blocks_per_unit = 16,
     .max_threads_per_unit = 1536,
     .cache_bytes = 6 * MiB,
     .memory_bytes = 8 * GiB},
    {.units = 14,
     .lanes = 32,
     .max_threads_per_block = 1024,
     .max_blocks_per_unit = 8,
     .max_threads_per_unit = 1536,
     .cache_bytes = 640 * KiB,
     .memory_bytes = 1280 * MiB},
    {.units = 2, .max_threads_per_block = 512},
};

bool has(const std::vector<Shape>& all, std::uint32_t blocks, std::uint32_t threads) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Shape& s) { return s.blocks == blocks && s.threads == threads; });
}

}  // namespace

TEST_CASE("every corner is asked for, One-One first, and no shape twice") {
  for (const Layout& l : layouts) {
    CAPTURE(l.units);
    const std::uint32_t cap = std::max(l.max_blocks_per_unit, 1u);
    for (const auto& list :
         {compute_shapes(l), bandwidth_shapes(l, Form::streaming), bandwidth_shapes(l, Form::dependent)}) {
      CHECK(std::set<Shape>(list.begin(), list.end()).size() == list.size());
      CHECK(list.front().blocks == 1);
      CHECK(list.front().threads == 1);
      CHECK(has(list, 1, l.max_threads_per_block));
      CHECK(has(list, l.units * cap, 1));
      CHECK(list.size() <= 140);
    }
  }
}

TEST_CASE("blocks of one thread: every number that a unit holds, and one block per unit first") {
  for (const Layout& l : layouts) {
    const auto list = compute_shapes(l);
    for (std::uint32_t k = 1; k <= l.max_blocks_per_unit; ++k) CHECK(has(list, k * l.units, 1));
    for (const Shape& s : list)
      if (s.one_block_per_sm) CHECK(s.blocks == l.units);
  }
}

TEST_CASE("grids of many threads fill the units and no more") {
  for (const Layout& l : layouts) {
    if (!l.max_threads_per_unit) continue;
    for (const Shape& s : compute_shapes(l)) {
      CHECK(s.blocks % (s.blocks == 1 ? 1 : l.units) == 0);
      if (s.blocks > 1) CHECK(s.blocks / l.units * s.threads <= l.max_threads_per_unit);
    }
  }
}

// A set that its grid outgrew was once on the list: 15 MiB for 1056 blocks of 256 threads with 4 accesses of 16 bytes.
TEST_CASE("every working set holds its grid, and memory holds the set") {
  for (const Layout& l : layouts)
    for (const Form form : {Form::streaming, Form::dependent})
      for (const Shape& s : bandwidth_shapes(l, form)) {
        CAPTURE(s.blocks);
        CAPTURE(s.threads);
        CHECK(walk_of(s, form == Form::dependent ? 4096 : 0).rows >= 1);
        if (l.memory_bytes) CHECK(3 * s.bytes < l.memory_bytes);  // triad has three
        if (form == Form::dependent) CHECK(s.ilp == 1);
      }
}

}  // namespace shapes

// A walk is right if counting its steps one by one gives what its closed form says.

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

TEST_CASE("every place is taken once, whatever the count") {
  for (const std::uint64_t count : {1, 2, 3, 16, 17, 1000, 65536, 65537}) {
    CAPTURE(count);
    const Permutation order(count);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < count; ++i) seen.insert(order.at(i));
    CHECK(seen.size() == count);
    CHECK(*seen.rbegin() == count - 1);
  }
}

TEST_CASE("neighbours in the order are no neighbours in memory, and steps do not repeat") {
  const std::uint64_t count = 4096;
  const Permutation order(count);
  unsigned near = 0;
  std::set<std::uint64_t> steps;
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t step = (order.at(i + 1) + count - order.at(i)) % count;
    near += step <= 4 || step >= count - 4;
    steps.insert(step);
  }
  CHECK(near < 30);            // 8 of 4096 by chance; all of them if it were not shuffled
  CHECK(steps.size() > 2000);  // 1 - 1/e of 4096 by chance, 2589
}

// What walks in circles must have summed: a formula, compared with walking.

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

}  // namespace patterns_test
