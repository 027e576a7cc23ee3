// Where one-thread blocks fill a unit: rates that rise and stay, by hand.
#include "netpipe/model/probes/knee.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace knee_test {

using namespace npgpu;
using model::knee_of;

namespace {

using Points = std::vector<std::pair<double, Estimate>>;

Estimate about(double value, double part = 0) { return {value, value * (1 - part), value * (1 + part), {}, {}}; }

// 10 a block up to the knee.
Points rising_to(int knee, int most, double part = 0) {
  Points points;
  for (int k = 1; k <= most; ++k) points.emplace_back(k, about(10.0 * std::min(k, knee), part));
  return points;
}

}  // namespace

TEST_CASE("a rise and a plateau: the knee is where they meet") {
  for (const int knee : {2, 5, 6, 16, 18}) {
    const auto found = knee_of(rising_to(knee, 32));
    REQUIRE(found);
    CHECK(found->reached);
    CHECK(found->blocks.value == doctest::Approx(knee));
    CHECK(found->most == 32);
  }
}

TEST_CASE("the order of the points does not matter") {
  Points points = rising_to(5, 8);
  std::reverse(points.begin(), points.end());
  CHECK(knee_of(points)->blocks.value == doctest::Approx(5));
}

TEST_CASE("a knee between two numbers of blocks") {
  // 10, 20, 30, 35, 35, ...: the plateau meets the rise at 3.5.
  Points points;
  for (int k = 1; k <= 8; ++k) points.emplace_back(k, about(std::min(10.0 * k, 35.0)));
  CHECK(knee_of(points)->blocks.value == doctest::Approx(3.5));
}

TEST_CASE("dips on the plateau, where warps do not divide among schedulers, do not move it") {
  // Four schedulers, latency of 4 instructions: 16 blocks fill a unit, and 17 need five turns.
  Points points;
  for (int k = 1; k <= 32; ++k) points.emplace_back(k, about(k / std::max(4.0, std::ceil(k / 4.0))));
  CHECK(points[16].second.value < 0.9 * points[15].second.value);
  CHECK(knee_of(points)->blocks.value == doctest::Approx(16));
}

TEST_CASE("a rate that still grows at the end has no knee yet") {
  const auto found = knee_of(rising_to(18, 8));
  REQUIRE(found);
  CHECK_FALSE(found->reached);
  CHECK(std::isnan(found->blocks.value));
  CHECK(found->most == 8);
  CHECK_FALSE(knee_of(rising_to(8, 8))->reached);  // it may go on just as well
  CHECK(knee_of(rising_to(8, 9))->reached);
}

TEST_CASE("bounds of the rates become bounds of the knee") {
  const Estimate knee = knee_of(rising_to(16, 32, 0.01))->blocks;
  CHECK(knee.value == doctest::Approx(16));
  CHECK(knee.low == doctest::Approx(16 * 0.99 / 1.01));
  CHECK(knee.high == doctest::Approx(16 * 1.01 / 0.99));
  Points unknown = rising_to(16, 32);
  for (auto& [k, rate] : unknown) rate.low = rate.high = not_measured;
  CHECK(std::isnan(knee_of(unknown)->blocks.low));
}

TEST_CASE("too little to say anything") {
  CHECK_FALSE(knee_of({}));
  CHECK_FALSE(knee_of({{1, about(10)}, {2, about(20)}}));
  CHECK_FALSE(knee_of({{2, about(20)}, {4, about(40)}, {8, about(40)}}));  // without one block, the rise is not known
}

}  // namespace knee_test
