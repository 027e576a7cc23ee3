// Which shapes the patterns have: each is one that the kernels take, on a large and a small device and on one that says
// little of itself.
#include "probes/patterns/patterns.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "npgpu/probe_description.hpp"

namespace patterns_test {

using namespace npgpu;

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

}  // namespace patterns_test
