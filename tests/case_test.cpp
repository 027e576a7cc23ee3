#include "npgpu/transfer.hpp"

#include <doctest/doctest.h>

using namespace npgpu;

TEST_CASE("the words a user types are the words of the enumerators, and back") {
  CHECK(name(Memory::write_combined) == "write-combined");
  CHECK(named<Memory>("write-combined") == Memory::write_combined);
  CHECK_FALSE(named<Memory>("writecombined"));
  CHECK_FALSE(named<Pattern>(""));
  CHECK(choices<Pattern>() == "stream, pingpong, duplex");
}

TEST_CASE("a title says what differs from the plain case, and nothing else") {
  TransferCase c{.module = "cudaMemcpy", .device = "cuda:0"};
  CHECK(title(c) == "cudaMemcpy cuda:0 h2d pinned stream blocking host");
  c.async = true;
  c.timing = Timing::gated;
  c.cache = Cache::cold;
  c.source_offset = 3;
  c.bind = false;
  CHECK(title(c) == "cudaMemcpy cuda:0 h2d pinned stream async gated cold soffset=3 unbound");
}

TEST_CASE("only the host's directions have another reverse") {
  CHECK(reversed(Direction::h2d) == Direction::d2h);
  CHECK(reversed(Direction::d2h) == Direction::h2d);
  CHECK(reversed(Direction::d2d) == Direction::d2d);
}
