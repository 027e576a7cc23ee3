// Lists that a device's kernels must be able to take, whatever its layout: an H200's, a GTX 470's, one that says
// nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "probes/walks.hpp"
#include "probes/shapes.hpp"

namespace shapes_test {

using namespace npgpu;

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

}  // namespace shapes_test
