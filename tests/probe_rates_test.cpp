// Points as rates, what makes them doubtful, and which of them are corners.
#include "netpipe/model/probes/probe_rates.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "made_probe.hpp"
#include "npgpu/model/compare.hpp"

namespace probe_rates_test {

using namespace npgpu;
using model::rates_of;

namespace {

bool two_groups(const std::vector<double>& values) { return model::upper_group(values).has_value(); }

const std::vector<double> steady(9, 2.0);

bool doubts(const ProbeResult& r, const std::string& text) {
  for (const std::string& doubt : r.doubts)
    if (doubt.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("work over the median device time of one repeat, with the median's interval") {
  ProbeSeries sweep = probe_sweep();
  add_point(sweep, {.blocks = 1, .threads = 1}, 100, {1.9, 1.95, 2, 2, 2, 2, 2, 2.1, 9});
  const auto rates = rates_of(sweep);
  REQUIRE(rates.size() == 1);
  CHECK(rates[0].rate.value == doctest::Approx(100 / 2e-6));
  // Of nine, 0.2279 of the way from ranks 2 and 8 to what is next to them.
  CHECK(rates[0].rate.low == doctest::Approx(100 / (2.1e-6 - 0.2279 * 0.1e-6)).epsilon(1e-5));
  CHECK(rates[0].rate.high == doctest::Approx(100 / (1.95e-6 + 0.2279 * 0.05e-6)).epsilon(1e-5));
  CHECK(rates[0].doubts.empty());
  CHECK(std::isnan(rates[0].cycle_rate.value));
}

TEST_CASE("host time stands in where any trial lacks device time") {
  ProbeSeries sweep = probe_sweep();
  add_point(sweep, {.blocks = 1, .threads = 1}, 100, steady);
  sweep.samples[3].device_us = not_measured;
  CHECK(rates_of(sweep)[0].rate.value == doctest::Approx(100 / 2.7e-6));  // (10 * 2 + 7) / 10
}

TEST_CASE("wrong results and blocks that were not alone are no rates") {
  ProbeSeries sweep = probe_sweep();
  add_point(sweep, {.blocks = 1, .threads = 1}, 100, steady);
  add_point(sweep, {.blocks = 4, .threads = 1, .one_block_per_sm = true}, 100, steady);
  add_point(sweep, {.blocks = 4, .threads = 32}, 100, steady);
  CHECK(rates_of(sweep).size() == 3);
  sweep.samples[8].intact = 0;
  sweep.samples[9].max_blocks_on_unit = 2;
  REQUIRE(rates_of(sweep).size() == 1);
  CHECK(rates_of(sweep)[0].axes.threads == 32);
}

TEST_CASE("cycles of one block count only where they are the kernel's") {
  const auto cycles_counted = [](const Shape& shape, double mhz, double telemetry_mhz = not_measured) {
    ProbeSeries sweep = probe_sweep();  // 4 units, 1000 MHz, blocks of up to 1024 threads
    add_point(sweep, shape, 100, steady).telemetry.sm_clock_mhz = telemetry_mhz;
    give_cycles(sweep, mhz);
    return std::isfinite(rates_of(sweep)[0].cycle_rate.value);
  };
  CHECK(cycles_counted({.blocks = 4, .threads = 1024}, 700));        // one block a unit, at a low clock
  CHECK(cycles_counted({.blocks = 8, .threads = 512}, 700));         // two that fit together
  CHECK_FALSE(cycles_counted({.blocks = 12, .threads = 512}, 667));  // two fit, the third waits: two thirds
  CHECK_FALSE(cycles_counted({.blocks = 36, .threads = 1}, 500));    // nine of eight
  CHECK(cycles_counted({.blocks = 12, .threads = 512}, 995));        // as fast as the clock: nobody waited
  CHECK(cycles_counted({.blocks = 12, .threads = 512}, 800, 805));   // as fast as telemetry's
  CHECK_FALSE(cycles_counted({.blocks = 1, .threads = 1}, 1500));    // of another clock than the unit's
  ProbeSeries sweep = probe_sweep();
  add_point(sweep, {.blocks = 1, .threads = 1}, 100, steady);
  give_cycles(sweep, 1000);
  CHECK(rates_of(sweep)[0].cycle_rate.value == doctest::Approx(100 / 2000.0));  // 2 us at 1000 MHz
}

TEST_CASE("what disturbs a point is said") {
  ProbeSeries sweep = probe_sweep();
  Visit<Probes>& point = add_point(sweep, {.blocks = 1, .threads = 1}, 100, {2, 2, 2, 2, 2, 3, 3, 3, 3});
  sweep.unsteady_above = 0.05;
  point.telemetry.throttle_reasons = 0x4;
  give_cycles(sweep, 900);
  const auto rate = rates_of(sweep)[0];
  CHECK(doubts(rate, "it is unsteady"));
  CHECK(doubts(rate, "it ran at 900 of 1000 MHz"));
  CHECK(doubts(rate, "disturbed: the device held its clocks back"));
  CHECK(doubts(rate, "two groups"));
  CHECK(rate.doubts.size() == 4);
  sweep.visits[0].telemetry.throttle_reasons = 0x1;  // idle: nobody held anything back
  CHECK_FALSE(doubts(rates_of(sweep)[0], "held"));
}

TEST_CASE("a disturbed visit has no part in a rate, unless most were disturbed") {
  ProbeSeries sweep = probe_sweep();
  for (const double us : {2.0, 4.0, 2.0}) {
    add_point(sweep, {.blocks = 1, .threads = 1}, 100, std::vector<double>(9, us));
    give_cycles(sweep, us == 2 ? 1000 : 500);
  }
  disturb(sweep.visits[1], Cause::clock_changed);
  auto rates = rates_of(sweep);
  REQUIRE(rates.size() == 1);
  CHECK(rates[0].rate.value == doctest::Approx(100 / 2e-6));
  CHECK(rates[0].rate.method.find("median of 2 visits") != std::string::npos);
  CHECK(rates[0].clock_mhz == doctest::Approx(1000));
  CHECK(rates[0].doubts.empty());
  CHECK(results(sweep)[0].max_us == doctest::Approx(2));
  for (const std::size_t i : {0U, 2U}) disturb(sweep.visits[i], Cause::device_busy);
  rates = rates_of(sweep);
  CHECK(rates[0].rate.method.find("median of 3 visits") != std::string::npos);
  CHECK(doubts(rates[0], "disturbed: another process used the device, the device's clock changed"));
  CHECK(results(sweep)[0].max_us == doctest::Approx(4));
}

TEST_CASE("two groups: far apart, and each more than a few outliers") {
  CHECK(two_groups(std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}));
  CHECK(two_groups(std::vector<double>{2, 1, 2.02, 1.01, 2, 1, 2.01, 1.02, 1}));
  CHECK_FALSE(two_groups(std::vector<double>{1, 1, 1, 1, 1, 1, 1, 5, 5}));             // two outliers of nine
  CHECK_FALSE(two_groups(std::vector<double>{1, 1, 1, 1, 1.02, 1.02, 1.02, 1.02}));    // 2 % apart
  CHECK_FALSE(two_groups(std::vector<double>{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}));  // wide, but one
  CHECK_FALSE(two_groups(std::vector<double>{1, 1, 2, 2}));                            // too few to tell
}

TEST_CASE("two groups 3 % apart are noticed, with their scatter and beside a wild value") {
  const std::vector<double> low{0.997, 0.998, 1, 1, 1, 1.001, 1.002, 1.003};
  std::vector<double> both = low;
  for (const double v : low) both.push_back(v + 0.03);
  CHECK(two_groups(both));
  both.back() = 1.2;
  CHECK(two_groups(both));
}

// ---- corners -----------------------------------------------------------------------------------------

TEST_CASE("the fastest shape of a corner stands for it, and one thread has one chain") {
  ProbeSeries sweep = probe_sweep();
  const auto add = [&](const Shape& shape, double work) { add_point(sweep, shape, work, steady); };
  add({.blocks = 1, .threads = 1, .ilp = 1}, 1);
  add({.blocks = 1, .threads = 1, .ilp = 4}, 4);
  add({.blocks = 1, .threads = 256, .ilp = 1}, 100);
  add({.blocks = 1, .threads = 512, .ilp = 4}, 120);
  add({.blocks = 4, .threads = 1, .ilp = 1}, 4);
  add({.blocks = 32, .threads = 1, .ilp = 1}, 30);
  add({.blocks = 32, .threads = 1, .ilp = 4}, 60);
  add({.blocks = 2, .threads = 1024, .ilp = 4}, 999);  // half of the units: no corner
  add({.blocks = 4, .threads = 1024, .ilp = 4}, 470);
  add({.blocks = 8, .threads = 1024, .ilp = 4}, 480);
  const Corners c = corners_of(sweep);
  const double per_work = 1 / 2e-6;
  CHECK(c.one_one.value == doctest::Approx(1 * per_work));
  CHECK(c.one_all.value == doctest::Approx(120 * per_work));
  CHECK(c.all_one.value == doctest::Approx(30 * per_work));
  CHECK(c.all_all.value == doctest::Approx(480 * per_work));
  CHECK(c.all_all.unit == "operations per second");
  CHECK(c.all_all.method ==
        "fastest of its shapes, 8 blocks of 1024 threads, ilp 4; median, 95 % interval from "
        "interpolated order statistics, of one visit");
  CHECK(std::isnan(c.all_all_cycle.value));
}

TEST_CASE("a corner without a point is empty; doubts go with their corner") {
  ProbeSeries sweep = probe_sweep();
  add_point(sweep, {.blocks = 1, .threads = 1, .ilp = 1}, 1, {1.8, 1.8, 1.8, 2, 2, 2, 2.2, 2.2, 2.2});
  sweep.unsteady_above = 0.05;
  add_point(sweep, {.blocks = 4, .threads = 64, .ilp = 1}, 1, steady);
  const Corners c = corners_of(sweep);
  CHECK(std::isnan(c.one_all.value));
  CHECK(c.one_all.method == "no such point was measured");
  REQUIRE(!c.doubts[3].empty());
  CHECK(c.doubts[3].front() == "it is unsteady");
  CHECK(c.doubts[0].empty());
  const auto p = compute_parameters(c);
  REQUIRE(p.size() == 3);
  CHECK(p[0].note == "One-All: no such point was measured");
  CHECK(p[2].note.find("One-One: it is unsteady") != std::string::npos);
}

TEST_CASE("sets inside the cache are no corners of memory, and a set that is hardly outside is doubted") {
  ProbeSeries sweep = probe_sweep();
  sweep.question.probe = "bandwidth";
  sweep.question.operation = Operation::rmw;
  sweep.layout.cache_bytes = 1 * MiB;
  add_point(sweep, {.blocks = 4, .threads = 256, .ilp = 1, .access_bytes = 16, .bytes = 64 * MiB}, 100, steady);
  add_point(sweep, {.blocks = 4, .threads = 512, .ilp = 1, .access_bytes = 16, .bytes = 256 * KiB}, 900, steady);
  CHECK(corners_of(sweep).all_all.value == doctest::Approx(100 / 2e-6));
  CHECK(corners_of(sweep).doubts[0].empty());
  CHECK(corners_of(sweep).all_all.unit == "bytes per second");
  sweep.layout.cache_bytes = 60 * MiB;
  CHECK(corners_of(sweep).doubts[0] == std::vector<std::string>{"its working set is not far beyond the cache"});
}

}  // namespace probe_rates_test
