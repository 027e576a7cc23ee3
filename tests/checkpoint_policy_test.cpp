// The promises of the policy, with numbers a reader can follow: saving costs at most 1 % of the time since the start,
// and nothing stays unsaved for more than 5 s.
#include "netpipe/trace/checkpoint_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace checkpoint_policy_test {

using npgpu::Seconds;
using npgpu::trace::CheckpointPolicy;

namespace {
constexpr Seconds at(double s) { return Seconds{s}; }
constexpr Seconds ms(double t) { return Seconds{t * 1e-3}; }
}  // namespace

TEST_CASE("nothing to save is never due, the first addition always") {
  CheckpointPolicy policy(at(100));
  CHECK_FALSE(policy.due(at(1000), 1));
  policy.added(at(1000.001));
  CHECK(policy.due(at(1000.001), 50000));
  policy.saved(ms(1), 50000);
  CHECK_FALSE(policy.unsaved());
  CHECK_FALSE(policy.due(at(2000), 50000));
}

TEST_CASE("the next save waits until both together are 0.8 % of the time") {
  // One save cost 1 ms, the next will cost as much: 2 ms are 0.8 % of 250 ms.
  CheckpointPolicy policy(at(0));
  policy.added(ms(10));
  policy.saved(ms(1), 50000);
  policy.added(ms(20));
  CHECK_FALSE(policy.due(ms(249), 50000));
  CHECK(policy.due(ms(251), 50000));
}

TEST_CASE("the cost expected grows with the file") {
  // 1 ms for 50 kB is 2 ms for 100 kB: 1 + 2 ms are 0.8 % of 375 ms.
  CheckpointPolicy policy(at(0));
  policy.added(ms(10));
  policy.saved(ms(1), 50000);
  CHECK(policy.expected(50000) == ms(1));
  CHECK(policy.expected(100000) == ms(2));
  CHECK(policy.expected(25000) == ms(1));  // a file that shrank promises nothing
  policy.added(ms(20));
  CHECK_FALSE(policy.due(ms(374), 100000));
  CHECK(policy.due(ms(376), 100000));
}

TEST_CASE("one slow save moves the expectation by a third of what it was off") {
  CheckpointPolicy policy(at(0));
  policy.added(ms(10));
  policy.saved(ms(1), 1000);
  policy.added(ms(20));
  policy.saved(ms(11), 1000);
  CHECK(policy.expected(1000).count() == doctest::Approx(0.004));  // 0.7 * 1 ms + 0.3 * 11 ms
  CHECK(policy.spent().count() == doctest::Approx(0.012));
  CHECK(policy.saves() == 2);
}

TEST_CASE("nothing stays unsaved for 5 s, whatever a save costs") {
  // A save of 100 ms: 0.8 % would allow the second after 25 s.
  CheckpointPolicy policy(at(0));
  policy.added(at(0));
  policy.saved(ms(100), 1000);
  policy.added(at(1.0));
  policy.added(at(1.1));
  CHECK_FALSE(policy.due(at(5.8), 1000));
  CHECK(policy.due(at(5.95), 1000));  // the next addition may come 0.1 s later: that would be too late
}

TEST_CASE("slow points are saved one by one: the next would come too late") {
  CheckpointPolicy policy(at(0));
  policy.added(at(3));
  policy.saved(ms(100), 1000);
  policy.added(at(6));  // 3 s after the last: with the next one it is 3 s old
  CHECK_FALSE(policy.due(at(6), 1000));
  policy.added(at(9));
  CHECK(policy.due(at(9), 1000));
}

TEST_CASE("a save that takes a second is not repeated every five") {
  // Patience is 10 times the cost: 10 s.
  CheckpointPolicy policy(at(0));
  policy.added(at(0));
  policy.saved(at(1), 1000);
  policy.added(at(2));
  CHECK_FALSE(policy.due(at(8), 1000));
  CHECK(policy.due(at(12), 1000));
}

TEST_CASE("a run of an hour keeps both promises while its file grows") {
  // A point each 50 ms adds 500 bytes; a save costs 0.3 ms and 1 ms a megabyte. Played through to the end.
  CheckpointPolicy policy(at(0));
  double clock = 0, oldest = -1, longest = 0, bytes = 20000;
  while (clock < 3600) {
    clock += 0.05;
    bytes += 500;
    policy.added(at(clock));
    if (oldest < 0) oldest = clock;
    if (policy.due(at(clock), static_cast<std::uint64_t>(bytes))) {
      const double cost = 0.3e-3 + 1e-9 * bytes;
      clock += cost;
      policy.saved(at(cost), static_cast<std::uint64_t>(bytes));
      longest = std::max(longest, clock - oldest);
      oldest = -1;
    }
  }
  CHECK(bytes > 35e6);
  CHECK(policy.spent().count() < 0.009 * clock);
  CHECK(longest < 5.2);
  CHECK(policy.saves() > 700);
}

}  // namespace checkpoint_policy_test
