#include "npgpu/drift.hpp"

#include <doctest/doctest.h>

#include "tests/made_sweep.hpp"

namespace drift_test {

using namespace npgpu;

namespace {

// Six sizes in as many rounds as there are factors; a round's times have its factor.
Trace run_of(const std::vector<double>& factors) {
  TransferSeries sweep = sweep_of(Pattern::stream, Timing::gated);
  for (const double factor : factors)
    for (std::uint64_t bytes = 1000; bytes <= 32'000; bytes *= 2)
      add_point(sweep, bytes, {static_cast<double>(bytes) / 100 * factor});
  Trace trace;
  trace.of<Transfers>() = {sweep};
  return trace;
}

}  // namespace

TEST_CASE("a round that was slower shows as one") {
  const auto all = drifts_of(run_of({1, 1, 1, 1.04, 1, 1}));
  REQUIRE(all.size() == 1);
  CHECK(all[0].time_class == TimeClass::device_copies);
  CHECK(all[0].points == 6);
  REQUIRE(all[0].by_round.size() == 6);
  CHECK(all[0].by_round[3] == doctest::Approx(0.04));
  CHECK(all[0].by_round[2] == doctest::Approx(0));
  CHECK(all[0].most() == doctest::Approx(0.04));
}

TEST_CASE("the largest drift keeps its sign") {
  CHECK(drifts_of(run_of({1, 0.9, 1, 1.04, 1})).at(0).most() == doctest::Approx(-0.1));
}

TEST_CASE("one round has nothing to drift from") { CHECK(drifts_of(run_of({1})).empty()); }

TEST_CASE("what a busy sibling adds is the median over points that were visited on both sorts of core") {
  TransferSeries sweep = sweep_of();
  for (std::uint64_t bytes = 1000; bytes <= 4000; bytes *= 2) {
    const double us = static_cast<double>(bytes);
    add_point(sweep, bytes, {us, us, us});
    disturb(add_point(sweep, bytes, {1.3 * us, 1.3 * us}), Cause::core_shared);
    disturb(add_point(sweep, bytes, {9 * us}), Cause::device_busy);
  }
  disturb(add_point(sweep, 9000, {1}), Cause::core_shared);
  Trace trace;
  trace.of<Transfers>() = {sweep};
  const BusySibling found = busy_sibling(trace);
  CHECK(found.visits == 4);
  CHECK(found.points == 3);
  CHECK(found.adds == doctest::Approx(0.3));
  CHECK(busy_sibling(run_of({1, 1})).points == 0);
}

}  // namespace drift_test
