// Fair shares of links, and flows that share them, by hand.
#include "netpipe/devices/simulated/fabric.hpp"

#include <doctest/doctest.h>

namespace fabric_test {

using namespace npgpu::simulated;

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

}  // namespace fabric_test
