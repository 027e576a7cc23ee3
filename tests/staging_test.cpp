// Messages in chunks: times a reader can add up.
#include "npgpu/staging.hpp"

#include <doctest/doctest.h>

#include <array>

namespace staging_test {

using namespace npgpu;

TEST_CASE("one chunk goes through all stages; behind it the busiest worker is never idle") {
  // 100 bytes: 1 + 100, 2 + 200 and 0 + 100 seconds.
  const std::array stages{StageCost{Seconds{1}, 1, 0}, StageCost{Seconds{2}, 2, 1}, StageCost{Seconds{0}, 1, 2}};
  CHECK(staged_time(stages, 100, 1).count() == doctest::Approx(403));
  // Chunks of 50 bytes: 51 + 102 + 50, and once more 102.
  CHECK(staged_time(stages, 100, 2).count() == doctest::Approx(305));
}

TEST_CASE("stages of one worker do not overlap") {
  const std::array stages{StageCost{Seconds{0}, 1, 0}, StageCost{Seconds{0}, 1, 1}, StageCost{Seconds{0}, 1, 1}};
  // Chunks of 50: 150 for the first, then 100 for the worker that has two.
  CHECK(staged_time(stages, 100, 2).count() == doctest::Approx(250));
}

TEST_CASE("the advised chunk is that of the formula, where one worker is always the busiest") {
  // n = sqrt(bytes (sum b - B) / s) = sqrt(2^20 * 2 / 32) = 256: chunks of 4096.
  const std::array stages{StageCost{Seconds{0}, 1, 0}, StageCost{Seconds{32}, 2, 1}, StageCost{Seconds{0}, 1, 2}};
  const std::uint64_t chunk = advised_chunk(stages, MiB, MiB, 1024);
  CHECK(chunk == 4096);
  for (const std::uint64_t other : {2048, 3072, 5120, 8192})
    CHECK(staged_time(stages, MiB, MiB / chunk) <= staged_time(stages, MiB, (MiB + other - 1) / other));
}

TEST_CASE("what costs nothing but a start is sent whole, and what has one stage, too") {
  const std::array starts{StageCost{Seconds{1}, 0, 0}, StageCost{Seconds{1}, 0, 1}};
  CHECK(advised_chunk(starts, 1000, 5000) == 1000);
  const std::array one{StageCost{Seconds{1}, 1, 0}};
  CHECK(advised_chunk(one, 1000000, 5000000) == 1000000);
}

TEST_CASE("a chunk is no larger than a slot, and of whole grains") {
  const std::array starts{StageCost{Seconds{1}, 0, 0}, StageCost{Seconds{1}, 0, 1}};
  const std::uint64_t chunk = advised_chunk(starts, 10 * MiB, MiB);
  CHECK(chunk <= MiB);
  CHECK(chunk % 4096 == 0);
  CHECK(advised_chunk(starts, 1, MiB) == 1);
}

}  // namespace staging_test
