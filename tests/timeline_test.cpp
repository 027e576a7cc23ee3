// What a simulated device is made of: timelines, multiprocessors, links of a node.
#include "netpipe/devices/simulated/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "netpipe/devices/simulated/fabric.hpp"
#include "netpipe/devices/simulated/library.hpp"
#include "netpipe/devices/simulated/multiprocessors.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace timeline_test {

using namespace npgpu;
using namespace npgpu::simulated;
using npgpu::simulated::Time;
using npgpu::simulated::Timeline;
using Engine = Timeline::Engine;

// The discrete-event core against closed forms: numbers to add up by hand first, then random ones.

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

// Kernels on simulated multiprocessors: cycles that can be counted by hand.

namespace {

// 2 SMs of 2 schedulers and 32 lanes: an instruction keeps a scheduler busy for 2 cycles. Results come after 18.
Multiprocessors made() {
  Multiprocessors m;
  m.sms = 2;
  m.schedulers = 2;
  m.lanes = 32;
  m.warps = 48;
  m.blocks = 8;
  m.block_threads = 1024;
  m.clock_hz = 1e9;
  return m;
}

constexpr WarpStep fma_step{.latency_cycles = 18, .instructions = 1};

double cycles(const Grid& grid, const WarpStep& step, double steps = 1) {
  return kernel_time(made(), grid, step, steps).cycles;
}

}  // namespace

TEST_CASE("a chain waits for its latency until enough warps hide it") {
  CHECK(cycles({1, 1}, fma_step) == 18);
  CHECK(cycles({1, 1}, fma_step, 10) == 180);
  CHECK(cycles({1, 32}, fma_step) == 18);    // as long as with one thread
  CHECK(cycles({1, 576}, fma_step) == 18);   // 18 warps, 9 a scheduler: 9 * 2
  CHECK(cycles({1, 577}, fma_step) == 20);   // the 19th makes one scheduler issue ten
  CHECK(cycles({1, 1024}, fma_step) == 32);  // 16 a scheduler
  CHECK(cycles({1, 1}, {18, 9}) == 18);      // nine chains of one warp fill its scheduler
  CHECK(cycles({1, 1}, {18, 10}) == 20);
}

TEST_CASE("an idle SM gets no block: the others take its share") {
  Multiprocessors m = made();
  m.idle_sms = 1;
  CHECK(kernel_time(m, {8, 1}, fma_step, 1).cycles == 18);
  CHECK(kernel_time(m, {16, 1}, fma_step, 1).cycles == 36);  // 18 on both
  CHECK(kernel_time(m, {16, 1}, fma_step, 1).units == 1);
}

TEST_CASE("blocks go to SMs in turn, as many at a time as an SM holds") {
  CHECK(cycles({2, 1}, fma_step) == 18);
  CHECK(cycles({16, 1}, fma_step) == 18);    // 8 an SM
  CHECK(cycles({17, 1}, fma_step) == 36);    // the 17th waits
  CHECK(cycles({160, 1}, fma_step) == 180);  // ten waves
  CHECK(cycles({6, 512}, fma_step) == 48);   // 3 blocks of 16 warps: 24 a scheduler
  CHECK(cycles({8, 512}, fma_step) ==
        48 + 18);  // a fourth does not fit beside them: it runs alone, 16 warps in 18 cycles
  const KernelTime t = kernel_time(made(), {17, 1}, fma_step, 1);
  CHECK(t.block_cycles == 18);
  CHECK(t.units == 2);
  CHECK(t.max_blocks_on_unit == 9);
  CHECK(kernel_time(made(), {1, 1}, fma_step, 1).units == 1);
}

TEST_CASE("alone: one block an SM at a time") {
  const KernelTime two = kernel_time(made(), {2, 1, true}, fma_step, 1);
  CHECK(two.cycles == 18);
  CHECK(two.max_blocks_on_unit == 1);
  const KernelTime four = kernel_time(made(), {4, 1, true}, fma_step, 1);
  CHECK(four.cycles == 36);
  CHECK(four.max_blocks_on_unit == 2);  // one after the other, but no more alone on its SM
}

TEST_CASE("an SM's way to memory and the bus set the pace once they are full") {
  Multiprocessors m = made();
  m.sm_bytes_per_cycle = 16;
  m.bus_bytes_per_s = 20e9;  // 20 B a cycle
  const auto of = [&](std::uint64_t blocks, double bytes, double bus) {
    return kernel_time(m, {blocks, 32}, {100, 2, bytes, bus}, 1).cycles;
  };
  CHECK(of(1, 256, 256) == 100);                     // 16 and 12.8 cycles: latency
  CHECK(of(1, 3200, 3200) == 200);                   // the way of one SM
  CHECK(of(2, 3200, 3200) == doctest::Approx(320));  // two SMs, and 6400 B on the bus
  CHECK(of(2, 320, 3200) == doctest::Approx(320));   // ten times the bytes in transactions
}

TEST_CASE("a block that no SM can hold is refused") {
  CHECK_THROWS_AS(cycles({1, 1025}, fma_step), Error);
  CHECK_THROWS_AS(cycles({0, 32}, fma_step), Error);
  CHECK_THROWS_AS(cycles({1, 0}, fma_step), Error);
  Multiprocessors m = made();
  m.warps = 16;
  CHECK_THROWS_AS(kernel_time(m, {1, 1024}, fma_step, 1), Error);
}

TEST_CASE("what a spec must say for kernels, and what it may leave out") {
  const Spec h200 = spec_of("sim:h200");
  CHECK_FALSE(why_no_kernels(h200, Need::compute));
  CHECK_FALSE(why_no_kernels(h200, Need::memory));
  const Multiprocessors m = multiprocessors_of(h200);
  CHECK(m.sms == 132);
  CHECK(m.schedulers == 4);
  CHECK(m.lanes == 128);
  CHECK(m.clock_hz == doctest::Approx(1.98e9));
  CHECK(m.bus_bytes_per_s == doctest::Approx(4282e9));
  const Spec plain = spec_of("sim:plain");
  const std::string why = why_no_kernels(plain, Need::compute).value_or("");
  CHECK(why.find("the spec of Plain does not say how its kernels run: add hardware.warps, hardware.blocks, "
                 "hardware.fma_latency_cycles to ") == 0);
  CHECK(why_no_kernels(plain, Need::memory)->find("memory_latency_cycles") != std::string::npos);
}

// Fair shares of links, and flows that share them, by hand.

namespace {

std::vector<double> shares(const std::vector<double>& links, const std::vector<std::vector<std::size_t>>& ways,
                           std::vector<double> caps = {}) {
  caps.resize(ways.size());
  std::vector<Fabric::Flow> flows;
  for (std::size_t i = 0; i < ways.size(); ++i) flows.push_back({caps[i], &ways[i]});
  return Fabric::shares(links, flows);
}

double seconds(Time time) { return static_cast<double>(time); }

}  // namespace

TEST_CASE("one link is shared evenly, and a cap leaves the rest to the others") {
  CHECK(shares({12}, {{0}, {0}, {0}}) == std::vector<double>{4, 4, 4});
  CHECK(shares({12}, {{0}, {0}, {0}}, {2, 0, 0}) == std::vector<double>{2, 5, 5});
}

// Bertsekas & Gallager 1992, section 6.5.2: a flow over two links has what the tighter one leaves it, and what it does
// not take of the other goes to those there.
TEST_CASE("max-min fair shares over two links") {
  CHECK(shares({10, 4}, {{0}, {0, 1}, {1}}) == std::vector<double>{8, 2, 2});
  CHECK(shares({3, 100}, {{0, 1}, {0}, {1}}) == std::vector<double>{1.5, 1.5, 98.5});
}

TEST_CASE("alone: L + n b/B + (n-1) g") {
  Fabric fabric({100});
  const auto lane = fabric.add_stream();
  const Fabric::Operation op{.latency = 2, .gap = 0.5, .bytes = 100, .links = {0}};
  const auto start = fabric.mark(lane, 0);
  for (int i = 0; i < 3; ++i) fabric.submit(lane, op, 0);
  const auto stop = fabric.mark(lane, 0);
  CHECK(seconds(fabric.finish(lane, 0).value()) == doctest::Approx(2 + 3 + 1));
  CHECK(seconds(fabric.time_of(lane, stop) - fabric.time_of(lane, start)) == doctest::Approx(6));
}

TEST_CASE("operations that wait for the one before pay their latency each") {
  Fabric fabric({100, 100});
  const auto lane = fabric.add_stream();
  fabric.submit(lane, {.latency = 2, .bytes = 100, .links = {0}, .waits = true}, 0);
  fabric.submit(lane, {.latency = 2, .bytes = 50, .links = {1}, .waits = true}, 0);
  CHECK(seconds(fabric.finish(lane, 0).value()) == doctest::Approx(2 + 1 + 2 + 0.5));
}

// Both begin at 0 with 50 B/s each. The short one has its 50 B at 1 s; the long one has 150 left, alone, 1.5 s.
TEST_CASE("who is left alone has the whole link") {
  Fabric fabric({100});
  const auto one = fabric.add_stream(), other = fabric.add_stream();
  fabric.submit(one, {.bytes = 50, .links = {0}}, 0);
  fabric.submit(other, {.bytes = 200, .links = {0}}, 0);
  CHECK(seconds(fabric.finish(one, 0).value()) == doctest::Approx(1));
  CHECK(seconds(fabric.finish(other, 0).value()) == doctest::Approx(2.5));
}

// After 20 minutes the clock cannot tell from none the time that the last bytes of a fast link take.
TEST_CASE("a fast link comes to an end late on the clock, too") {
  Fabric fabric({4.5e11});
  const auto lane = fabric.add_stream(), other = fabric.add_stream();
  Time now = 1200;
  for (int i = 0; i < 2000; ++i) {
    fabric.submit(lane, {.latency = 1e-6, .bytes = 67108864.0 * 1.003, .links = {0}}, now);
    fabric.submit(other, {.latency = 1.7e-6, .bytes = 67108864.0 / 3, .links = {0}}, now);
    now = fabric.finish(lane, now).value();
    now = fabric.finish(other, now).value();
  }
  CHECK(seconds(now - 1200) == doctest::Approx(2000 * (1e-6 + 67108864.0 * (1.003 + 1.0 / 3) / 4.5e11)).epsilon(1e-3));
}

TEST_CASE("behind a gate nothing begins, and marks have the time of its opening") {
  Fabric fabric({100});
  const auto lane = fabric.add_stream();
  fabric.hold(lane);
  const auto start = fabric.mark(lane, 1);
  fabric.submit(lane, {.latency = 1, .bytes = 100, .links = {0}}, 2);
  const auto stop = fabric.mark(lane, 3);
  CHECK_FALSE(fabric.finish(lane, 3));
  fabric.release(lane, 5);
  CHECK(seconds(fabric.finish(lane, 5).value()) == doctest::Approx(7));
  CHECK(seconds(fabric.time_of(lane, start)) == doctest::Approx(5));
  CHECK(seconds(fabric.time_of(lane, stop)) == doctest::Approx(7));
}

}  // namespace timeline_test
