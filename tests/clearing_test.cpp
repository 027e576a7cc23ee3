// How long is waited after memory was freed, by hand: 250 GB/s are 4.295 ms a GiB.
#include "netpipe/devices/cuda/clearing.hpp"

#include <doctest/doctest.h>

namespace clearing_test {

using namespace npgpu;
using cuda::Clearing;

TEST_CASE("freed memory is waited for by its bytes, and what comes in addition adds up") {
  Clearing clearing;
  CHECK(clearing.rest(Seconds{10}) == Seconds{0});
  clearing.freed(250'000'000, Seconds{10});  // 1 ms
  CHECK(clearing.rest(Seconds{10}).count() == doctest::Approx(1e-3));
  CHECK(clearing.rest(Seconds{10.0004}).count() == doctest::Approx(6e-4));
  clearing.freed(500'000'000, Seconds{10.0004});  // behind what is still to be cleared
  CHECK(clearing.rest(Seconds{10.0004}).count() == doctest::Approx(2.6e-3));
  CHECK(clearing.rest(Seconds{10.1}) == Seconds{0});
  clearing.freed(250'000'000, Seconds{11});  // long after
  CHECK(clearing.rest(Seconds{11}).count() == doctest::Approx(1e-3));
}

TEST_CASE("what was freed without a context is cleared once there is one") {
  Clearing clearing;
  clearing.freed_without_context(500'000'000);
  CHECK(clearing.rest(Seconds{5}) == Seconds{0});
  clearing.context_is_there(Seconds{7});
  CHECK(clearing.rest(Seconds{7}).count() == doctest::Approx(2e-3));
  clearing.context_is_there(Seconds{8});  // once
  CHECK(clearing.rest(Seconds{8}) == Seconds{0});
}

TEST_CASE("the wait covers what was seen on H100s, and is longer for memory with less bandwidth") {
  // 121.1 ms after 48 GiB, 2.01 ms after 1 GiB
  for (const auto& [gib, ms] : {std::pair{48.0, 121.1}, {16.0, 40.2}, {4.0, 9.66}, {1.0, 2.01}}) {
    Clearing clearing(Clearing::rate(3.35e12));
    clearing.freed(static_cast<std::uint64_t>(gib * static_cast<double>(GiB)), Seconds{0});
    CHECK(clearing.rest(Seconds{0}).count() > ms * 1e-3);
    CHECK(clearing.rest(Seconds{0}).count() < 3 * ms * 1e-3);
  }
  CHECK(Clearing::rate(320e9) == doctest::Approx(24e9));          // of a T4
  CHECK(Clearing::rate(not_measured) == doctest::Approx(250e9));  // not known
}

}  // namespace clearing_test
