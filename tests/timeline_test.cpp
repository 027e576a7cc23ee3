// The discrete-event core against closed forms: numbers to add up by hand first, then random ones.
#include "netpipe/devices/simulated/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace timeline_test {

using npgpu::simulated::Time;
using npgpu::simulated::Timeline;
using Engine = Timeline::Engine;

namespace {

Timeline::Operation op(Engine engine, Time latency, Time gap, Time transfer) {
  return {engine, latency, gap, transfer};
}

bool close(Time a, Time b) { return std::abs(a - b) <= 1e-12L * std::max(std::abs(a), std::abs(b)); }

#define CHECK_CLOSE(a, b)                                                                                     \
  do {                                                                                                        \
    const Time left_ = (a), right_ = (b);                                                                     \
    CHECK_MESSAGE(close(left_, right_), static_cast<double>(left_), " is not ", static_cast<double>(right_)); \
  } while (false)

}  // namespace

TEST_CASE("one copy: latency, then its transfer") {
  Timeline t(2, 1, 1);
  const auto s = t.add_stream();
  t.submit(s, op(Engine::h2d, 2, 1, 10), 5);
  CHECK_CLOSE(*t.finish(s, 5), 5 + 2 + 10);
  CHECK_CLOSE(*t.finish(s, 100), 100);  // long done
}

TEST_CASE("a stream without work is finished now") {
  Timeline t(2, 1, 1);
  CHECK_CLOSE(*t.finish(t.add_stream(), 7), 7);
}

TEST_CASE("queued copies: latencies hide behind transfers, gaps do not") {
  Timeline t(2, 1, 1);
  const auto s = t.add_stream();
  for (int i = 0; i < 3; ++i) t.submit(s, op(Engine::h2d, 2, 1, 10), 0);
  CHECK_CLOSE(*t.finish(s, 0), 2 + 3 * 10 + 2 * 1);
}

TEST_CASE("a copy that comes later than the gap pays its latency again, and no gap") {
  Timeline t(2, 1, 1);
  const auto s = t.add_stream();
  t.submit(s, op(Engine::h2d, 2, 1, 10), 0);   // ends at 12
  t.submit(s, op(Engine::h2d, 2, 1, 10), 12);  // starts at 14, not 13
  CHECK_CLOSE(*t.finish(s, 12), 24);
  t.submit(s, op(Engine::h2d, 2, 50, 10), 24);  // a gap longer than the latency counts instead of it
  CHECK_CLOSE(*t.finish(s, 24), 24 + 50 + 10);
}

TEST_CASE("issued one by one: the slower of issue and engine sets the pace") {
  struct Pace {
    Time issue, gap, transfer;
  };
  for (const auto& [issue, gap, transfer] : {Pace{3, 1, 10}, Pace{30, 1, 10}, Pace{11, 1, 10}}) {
    Timeline t(2, 1, 1);
    const auto s = t.add_stream();
    constexpr int n = 100;
    Time now = 0;
    for (int i = 0; i < n; ++i) t.submit(s, op(Engine::h2d, 2, gap, transfer), now += issue);
    CHECK_CLOSE(*t.finish(s, now), issue + 2 + transfer + (n - 1) * std::max(issue, gap + transfer));
  }
}

TEST_CASE("round trips in one stream: each leg waits for the other's end, and pays its latency") {
  Timeline t(2, 1.5L, 3);  // never at work together, so never slowed
  const auto s = t.add_stream();
  for (int i = 0; i < 10; ++i) {
    t.submit(s, op(Engine::h2d, 2, 1, 10), 0);
    t.submit(s, op(Engine::d2h, 3, 1, 20), 0);
  }
  CHECK_CLOSE(*t.finish(s, 0), 10 * (2 + 10 + 3 + 20));
}

TEST_CASE("one copy engine: both directions in the order of submission, never at once") {
  Timeline t(1, 1.5L, 3);
  const auto a = t.add_stream(), b = t.add_stream();
  for (int i = 0; i < 4; ++i) {
    t.submit(a, op(Engine::h2d, 2, 1, 10), 0);
    t.submit(b, op(Engine::d2h, 2, 1, 20), 0);
  }
  CHECK_CLOSE(*t.finish(b, 0), 2 + 4 * 10 + 4 * 20 + 7 * 1);
  CHECK_CLOSE(*t.finish(a, 0), 2 + 4 * 10 + 3 * 20 + 6 * 1);
}

TEST_CASE("two copies that begin together: the formula of timeline.hpp, by hand") {
  // Up: 1 + 10 * 1.25 = 13.5. Down: from 2 on at half its rate, 5.75 of its 20 by 13.5, then alone: 13.5 + 14.25.
  // The formula: 13.5 * (1 - 1/2) + 20 + 2/2 = 27.75.
  Timeline t(2, 1.25L, 2);
  const auto up = t.add_stream(), down = t.add_stream();
  t.submit(up, op(Engine::h2d, 1, 0, 10), 0);
  t.submit(down, op(Engine::d2h, 2, 0, 20), 0);
  CHECK_CLOSE(*t.finish(up, 0), 13.5L);
  CHECK_CLOSE(*t.finish(down, 0), 27.75L);
}

TEST_CASE("two copies that begin together: 4000 random cases") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> time(0.01, 10), slow(1, 4);
  for (int i = 0; i < 4000; ++i) {
    const Time sl[2] = {slow(random), slow(random)};
    const Time latency[2] = {time(random), time(random)};
    const Time alone[2] = {time(random), time(random)};
    Timeline t(2, sl[0], sl[1]);
    const auto up = t.add_stream(), down = t.add_stream();
    t.submit(up, op(Engine::h2d, latency[0], 0, alone[0]), 0);
    t.submit(down, op(Engine::d2h, latency[1], 0, alone[1]), 0);
    const Time end[2] = {*t.finish(up, 0), *t.finish(down, 0)};
    const Time both[2] = {latency[0] + alone[0] * sl[0], latency[1] + alone[1] * sl[1]};
    const int first = both[0] < both[1] ? 0 : 1, second = 1 - first;
    // Where the longer one has not begun its transfer yet, it is not slowed at all.
    const Time begun = std::max(both[first], latency[second]);
    const Time longer = begun == both[first]
                            ? both[first] * (1 - 1 / sl[second]) + alone[second] + latency[second] / sl[second]
                            : latency[second] + alone[second];
    REQUIRE(close(end[first], both[first]));
    REQUIRE(close(end[second], longer));
  }
}

TEST_CASE("while copies the other way go on, a copy takes sl times its transfer") {
  Timeline t(2, 1.25L, 2);
  const auto up = t.add_stream(), down = t.add_stream();
  for (int i = 0; i < 1000; ++i) t.submit(down, op(Engine::d2h, 2, 1, 20), 0);
  for (int i = 0; i < 100; ++i) t.submit(up, op(Engine::h2d, 2, 1, 10), 0);
  CHECK_CLOSE(*t.finish(up, 0), 2 + 100 * 12.5L + 99);
  // The other one: slowed until then, alone after it; gaps are never slowed. Up to U = 1351 it has done k copies of
  // 40 + 1 each from 2 on, and its work is 20000 in all.
  const Time until = 1351;
  const Time copies = std::floor((until - 2) / 41);  // whole ones, each 20 of work
  const Time into = until - 2 - copies * 41;         // in the next one, at half rate
  const Time work = copies * 20 + into / 2;
  CHECK_CLOSE(*t.finish(down, 0), until + (20000 - work) + (999 - copies));
}

TEST_CASE("copies within the device have an engine of their own") {
  Timeline t(2, 1.25L, 2);
  const auto up = t.add_stream(), inside = t.add_stream();
  t.submit(up, op(Engine::h2d, 2, 1, 10), 0);
  t.submit(inside, op(Engine::d2d, 1, 1, 100), 0);
  CHECK_CLOSE(*t.finish(up, 0), 12);
  CHECK_CLOSE(*t.finish(inside, 0), 101);
}

TEST_CASE("a copy that is submitted later slows one that is under way, from then on") {
  Timeline t(2, 2, 1);
  const auto up = t.add_stream(), down = t.add_stream();
  t.submit(up, op(Engine::h2d, 0, 0, 10), 0);
  t.submit(down, op(Engine::d2h, 0, 0, 4), 6);  // 6 of 10 are done; against it 2 more by 10; the last 2 alone
  CHECK_CLOSE(*t.finish(up, 6), 12);
  CHECK_CLOSE(*t.finish(down, 6), 10);
}

TEST_CASE("behind a gate nothing runs, and what was issued costs nothing once it opens") {
  Timeline t(2, 1, 1);
  const auto s = t.add_stream();
  t.hold(s);
  const auto start = t.mark(s, 1);
  for (int i = 0; i < 5; ++i) t.submit(s, op(Engine::h2d, 2, 1, 10), 1 + i);
  const auto stop = t.mark(s, 9);
  CHECK_FALSE(t.finish(s, 10));
  t.release(s, 50);
  CHECK_CLOSE(*t.finish(s, 50), 50 + 2 + 5 * 10 + 4);
  CHECK_CLOSE(t.time_of(s, start), 50);
  CHECK_CLOSE(t.time_of(s, stop), 50 + 2 + 5 * 10 + 4);
  CHECK_FALSE(t.held(s));
}

TEST_CASE("two gates that open together let both directions begin together") {
  Timeline t(2, 1.25L, 2);
  const auto up = t.add_stream(), down = t.add_stream();
  t.hold(up);
  t.hold(down);
  t.submit(up, op(Engine::h2d, 1, 0, 10), 1);
  t.submit(down, op(Engine::d2h, 2, 0, 20), 2);
  t.release(up, 100);
  t.release(down, 100);
  CHECK_CLOSE(*t.finish(up, 100), 113.5L);
  CHECK_CLOSE(*t.finish(down, 100), 127.75L);
}

TEST_CASE("marks: when they are reached, or when what is before them has ended") {
  Timeline t(2, 1, 1);
  const auto s = t.add_stream();
  const auto first = t.mark(s, 3);
  t.submit(s, op(Engine::h2d, 2, 1, 10), 4);
  const auto second = t.mark(s, 5);
  CHECK_CLOSE(*t.finish(s, 5), 16);
  const auto third = t.mark(s, 20);
  CHECK_CLOSE(t.time_of(s, first), 3);
  CHECK_CLOSE(t.time_of(s, second), 16);
  CHECK_CLOSE(t.time_of(s, third), 20);
  t.forget_marks(s);
  CHECK_THROWS(t.time_of(s, first));
}

TEST_CASE("a million copies add up to their sum") {
  Timeline t(2, 1, 1);
  const auto s = t.add_stream();
  for (int i = 0; i < 1000000; ++i) t.submit(s, op(Engine::h2d, 0.3L, 0.1L, 0.7L), 0);
  CHECK_CLOSE(*t.finish(s, 0), 0.3L + 1000000 * 0.7L + 999999 * 0.1L);
}

}  // namespace timeline_test
