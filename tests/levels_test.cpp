// Levels of a memory in curves made up by hand: sets from 4 KiB on, four an octave.
#include "netpipe/model/probes/levels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace levels_test {

using namespace npgpu;
using model::Level;
using model::levels_of;
using model::LoadTime;

namespace {

constexpr double to_next_point = 1.1893;  // 2^(1/4)

std::vector<LoadTime> curve(double most, const std::function<double(double)>& ns) {
  std::vector<LoadTime> points;
  for (int i = 0;; ++i) {
    const double bytes = 4096 * std::exp2(i / 4.0);
    if (bytes > most * 1.001) return points;
    const double v = ns(bytes);
    points.push_back({static_cast<std::uint64_t>(std::llround(bytes)), {v, v * 0.99, v * 1.01, "ns", {}}, {}});
  }
}

double in_three(double bytes) { return bytes <= 32 * KiB ? 1 : bytes <= 1 * MiB ? 4 : 100; }

// All that a cache cannot hold of a set visited in random order.
double missing(double bytes, double cache) { return bytes <= cache ? 0 : 1 - cache / bytes; }

void check_size(const Level& level, double bytes, double tolerance) {
  CAPTURE(level.bytes.value);
  CHECK(std::abs(level.bytes.value / bytes - 1) <= tolerance);
  CHECK(level.bytes.low <= level.bytes.value);
  CHECK(level.bytes.high >= level.bytes.value);
}

}  // namespace

TEST_CASE("sharp steps: a size lies between the last point that fits and the next") {
  const auto levels = levels_of(curve(16 * MiB, in_three));
  REQUIRE(levels.size() == 3);
  CHECK(levels[0].ns.value == 1);
  CHECK(levels[1].ns.value == 4);
  CHECK(levels[2].ns.value == 100);
  CHECK(levels[0].bytes.low == 32 * KiB);
  CHECK(levels[0].bytes.high == doctest::Approx(32 * KiB * to_next_point).epsilon(0.001));
  // Half of the loads miss half way to the next point: half of a quarter of an octave.
  CHECK(levels[0].bytes.value == doctest::Approx(32 * KiB * std::exp2(1 / 8.0)).epsilon(0.001));
  check_size(levels[1], MiB, 0.10);
  CHECK(std::isnan(levels[2].bytes.value));
}

TEST_CASE("no step at all: one level without an end, or none where the rise is steady and steep") {
  const auto flat = levels_of(curve(16 * MiB, [](double) { return 7.0; }));
  REQUIRE(flat.size() == 1);
  CHECK(flat[0].ns.value == 7);
  CHECK(std::isnan(flat[0].bytes.value));
  CHECK(levels_of(curve(16 * MiB, [](double b) { return std::sqrt(b); })).empty());          // 41 % an octave
  CHECK(levels_of(curve(16 * MiB, [](double b) { return std::pow(b, 0.1); })).size() == 1);  // 7 %
}

TEST_CASE("few points say little, none nothing") {
  CHECK(levels_of({}).empty());
  CHECK(levels_of(curve(4 * KiB, in_three)).empty());
  auto points = curve(16 * MiB, in_three);
  points.resize(2);
  CHECK(levels_of(points).empty());
  for (LoadTime& p : points) p.ns.value = not_measured;
  CHECK(levels_of(points).empty());
}

TEST_CASE("slow rises: half of the loads are answered by the next level") {
  // All that a cache of 1 MiB cannot hold of a larger set misses: half at 2 MiB.
  const auto levels = levels_of(curve(1024 * MiB, [](double b) { return 4 + 96 * missing(b, MiB); }));
  REQUIRE(levels.size() == 2);
  check_size(levels[0], 2 * MiB, 0.03);
  CHECK(levels[0].rise_octaves > 0.5);
  CHECK(levels_of(curve(16 * MiB, in_three))[0].rise_octaves < 0.25);
}

TEST_CASE("pages of random colour: the size is right though the rise begins at half of it") {
  // 1 MiB in 8 ways of 32 colours of 4 KiB: a page misses where 8 others or more share its colour.
  const auto crowded = [](double bytes) {
    const double others = bytes / 4096 / 32;
    double term = std::exp(-others), below = 0;
    for (int k = 0; k < 8; ++k, term *= others / k) below += term;
    return 1 - below;
  };
  CHECK(crowded(MiB) == doctest::Approx(0.547).epsilon(0.001));
  const auto levels = levels_of(curve(64 * MiB, [&](double b) { return 3.8 + 8.1 * crowded(b); }));
  REQUIRE(levels.size() == 2);
  check_size(levels[0], MiB, 0.05);
}

TEST_CASE("noise of 5 %, and single points three times too slow, move nothing") {
  int i = 0;
  const auto noisy = curve(16 * MiB, [&](double b) {
    ++i;
    return in_three(b) * (1 + 0.05 * std::sin(2.3 * i)) * (i % 9 == 5 ? 3 : 1);
  });
  const auto levels = levels_of(noisy);
  REQUIRE(levels.size() == 3);
  check_size(levels[0], 32 * KiB, 0.20);
  check_size(levels[1], MiB, 0.20);
  CHECK(levels[1].ns.value == doctest::Approx(4).epsilon(0.05));
}

TEST_CASE("two levels whose sizes are an octave apart") {
  const auto levels = levels_of(curve(16 * MiB, [](double b) {
    return b <= 256 * KiB ? 10 : b <= 512 * KiB ? 20 : 40;
  }));
  REQUIRE(levels.size() == 3);
  check_size(levels[0], 256 * KiB, 0.10);
  check_size(levels[1], 512 * KiB, 0.10);
}

TEST_CASE("near and far parts of one cache are one level, a third slower is another") {
  const auto of = [](double second) {
    return levels_of(curve(16 * MiB, [&](double b) { return b <= 64 * KiB ? 200 : b <= MiB ? second : 1000; }));
  };
  REQUIRE(of(240).size() == 2);
  check_size(of(240)[0], MiB, 0.10);
  CHECK(of(280).size() == 3);
}

TEST_CASE("a slow rise of the last level, as of address translation, is no level of its own") {
  const auto levels = levels_of(curve(256 * MiB, [](double b) {
    return b <= MiB ? 100.0 : 500 * std::pow(b / MiB, 0.15);  // 11 % an octave: from 500 to 1150
  }));
  CHECK(levels.size() == 2);
}

TEST_CASE("cycles are preferred to times where every point has them: a clock that changes is no level") {
  auto points = curve(16 * MiB, in_three);
  for (LoadTime& p : points) {
    p.cycles = p.ns;
    if (p.bytes < 16 * KiB) p.ns.value *= 2;  // at half the clock
  }
  CHECK(levels_of(points).size() == 3);
  CHECK(levels_of(points)[0].cycles.value == 1);
}

TEST_CASE("bounds of the points widen the size's") {
  auto points = curve(16 * MiB, in_three);
  for (LoadTime& p : points)
    if (p.bytes > 27 * KiB && p.bytes <= 32 * KiB) p.ns.high = 3;  // above the mean, 2
  const auto levels = levels_of(points);
  CHECK(levels[0].bytes.low < 28 * KiB);
  CHECK(levels[0].bytes.value > 32 * KiB);
}

}  // namespace levels_test
