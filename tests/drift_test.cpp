// How times drift, and which share a drift.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "npgpu/model/result.hpp"
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

TEST_CASE("drift is what the points of a round share, and by how long they take") {
  const auto trace_of = [](int points, double shared, double own) {
    TransferSeries sweep = sweep_of(Pattern::stream, Timing::gated);
    sweep.simulated = true;  // nothing differs from run to run
    for (int round = 0; round < 6; ++round)
      for (int i = 0; i < points; ++i) {
        const double up = round % 2 ? 1 : -1, own_up = (round + i) % 2 ? 1 : -1;
        const double us = i < points / 2 ? 5 * (1 + shared * up) : 500 * (1 + own * own_up);
        add_point(sweep, static_cast<std::uint64_t>(1000 + i), {us});
      }
    Trace trace;
    trace.of<Transfers>() = {sweep};
    set_drifts(trace);
    return trace;
  };
  // Of six values of +-1 the standard deviation is sqrt(6 / 5).
  const Trace small_ones = trace_of(40, 0.02, 0);
  const DriftByTime& drift = small_ones.of<Transfers>()[0].drift;
  CHECK(drift.at(5) == doctest::Approx(0.02 * std::sqrt(1.2)).epsilon(0.01));
  CHECK(drift.at(500) == 0);
  CHECK(drift.at(50) == 0);                                            // no points
  CHECK(trace_of(40, 0, 0.02).of<Transfers>()[0].drift.at(500) == 0);  // every point for itself
  CHECK(trace_of(9, 0.02, 0.02).of<Transfers>()[0].drift.at(5) == 0);  // too few to tell
}

TEST_CASE("what differs from run to run is in the drift of every series that was measured") {
  Trace trace = run_of({1, 1, 1, 1, 1, 1});
  set_drifts(trace);
  CHECK(trace.of<Transfers>()[0].drift.at(5) == run_to_run(TimeClass::device_copies).at(5));
  CHECK(trace.of<Transfers>()[0].drift.at(5000) < 0.002);
  trace.of<Transfers>()[0].simulated = true;
  set_drifts(trace);
  CHECK(trace.of<Transfers>()[0].drift.at(5) == 0);
  const DriftByTime both = with_run_to_run({{0.003, 0, 0, 0}}, TimeClass::device_copies);
  CHECK(both.at(5) == doctest::Approx(std::hypot(0.003, run_to_run(TimeClass::device_copies).at(5))));
}

TEST_CASE("unsteady is what is wider than 5 %, and three times as wide as usual in its class") {
  // Eleven points of +-2 % and one of +-9 %: half widths of 6 visits, five fourteenths of a step inwards.
  const auto trace_of = [](double usual, double one) {
    TransferSeries sweep = sweep_of(Pattern::stream, Timing::gated);
    sweep.simulated = true;
    for (int i = 0; i < 12; ++i) {
      const double step = (i < 11 ? usual : one) / 2.5;
      for (const double at : {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})
        add_point(sweep, static_cast<std::uint64_t>(1000 + i), {5000 * (1 + (i % 2 ? at : -at) * step)});
    }
    Trace trace;
    trace.of<Transfers>() = {sweep};
    set_drifts(trace);
    return trace;
  };
  const auto unsteady = [&](double usual, double one) {
    int count = 0;
    for (const TransferResult& s : results(trace_of(usual, one).of<Transfers>()[0])) count += s.unsteady;
    return count;
  };
  CHECK(unsteady(0.02, 0.09) == 1);
  CHECK(unsteady(0.005, 0.04) == 0);  // less than 5 %
  CHECK(unsteady(0.04, 0.09) == 0);   // not three times as wide
  CHECK(trace_of(0.02, 0.09).of<Transfers>()[0].unsteady_above > 0.05);
  CHECK(trace_of(0.001, 0.001).of<Transfers>()[0].unsteady_above == 0.05);
}

TEST_CASE("with drift the interval of a short run holds what many runs give, as often as it says") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  int held = 0, held_alone = 0, all = 0;
  for (int run = 0; run < 60; ++run) {
    TransferSeries sweep = sweep_of(Pattern::stream, Timing::gated);
    // A host whose clock goes back to its mean within some four rounds.
    double drift = 0.03 * normal(random);
    for (int round = 0; round < 6; ++round) {
      drift = 0.8 * drift + 0.6 * 0.03 * normal(random);
      for (int i = 0; i < 40; ++i)
        add_point(sweep, static_cast<std::uint64_t>(1000 + i), {5 * std::exp(drift + 0.005 * normal(random))});
    }
    Trace trace;
    trace.of<Transfers>() = {sweep};
    for (const bool told : {false, true}) {
      if (told) set_drifts(trace);
      for (const TransferResult& s : results(trace.of<Transfers>()[0])) {
        const bool holds = s.time_us.low <= 5 && 5 <= s.time_us.high;
        (told ? held : held_alone) += holds;
        all += told;
      }
    }
  }
  CHECK(held_alone < 0.80 * all);
  CHECK(held > 0.88 * all);
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

// Rate classes by what divides the size: the paper's own table, made rates whose classes are known, and rates that have
// none.

namespace {

using Rate = std::function<double(std::uint32_t divisor)>;

// Rates that grow with n, times what the divisor makes of them; `spread`: half of the interval, as a part.
std::vector<SizeRate> made(std::uint32_t first, std::uint32_t last, std::uint32_t step, const Rate& part,
                           double spread = 0.002) {
  std::vector<SizeRate> all;
  for (std::uint32_t n = first; n <= last; n += step) {
    const double wobble = 1 + spread * std::sin(n * 12.9898), growth = n / (n + 300.0);
    const double rate = 50e12 * growth * part(divisor_of(n)) * wobble;
    all.push_back({n, {rate, rate * (1 - spread), rate * (1 + spread), "", ""}});
  }
  return all;
}

std::string words(const RateClasses& found) {
  std::ostringstream text;
  for (const RateClass& c : found.classes) text << c.least << ".." << c.most << " ";
  return text.str();
}

}  // namespace

TEST_CASE("the largest power of two that divides n, up to 64") {
  CHECK(divisor_of(8128) == 64);
  CHECK(divisor_of(8192) == 64);
  CHECK(divisor_of(8160) == 32);
  CHECK(divisor_of(8144) == 16);
  CHECK(divisor_of(8136) == 8);
  CHECK(divisor_of(8129) == 1);
}

TEST_CASE("Table III of Allada et al. 2009: three classes of SGEMM, three of DGEMM, and not the same") {
  std::ifstream file(std::string(NPGPU_SOURCE_DIR) + "/data/papers/004_table3_gemm.csv");
  std::vector<SizeRate> single, twice;
  std::string line;
  while (std::getline(file, line)) {
    unsigned divisor = 0;
    double sgemm = 0, dgemm = 0;
    if (std::sscanf(line.c_str(), "%u,%lf,%lf", &divisor, &sgemm, &dgemm) != 3) continue;
    for (std::uint32_t n = 8128; n < 8192; n += 8)
      if (divisor_of(n) == divisor) {
        single.push_back({n, {sgemm * 1e9, not_measured, not_measured, "", ""}});
        twice.push_back({n, {dgemm * 1e9, not_measured, not_measured, "", ""}});
      }
  }
  REQUIRE(single.size() == 8);
  const RateClasses s = rate_classes(single), d = rate_classes(twice);
  CHECK(words(s) == "8..16 32..32 64..64 ");
  CHECK(s.classes[0].sizes == 6);
  CHECK(s.classes[0].rate == doctest::Approx(167.08e9).epsilon(0.003));
  CHECK(s.classes[1].relative.value == doctest::Approx(245.67 / 344.32));
  CHECK(s.classes[2].rate == doctest::Approx(344.32e9));
  CHECK(words(d) == "8..8 16..32 64..64 ");
  CHECK(d.classes[1].relative.value == doctest::Approx(62.11 / 69.96));
}

TEST_CASE("classes of a sweep whose rates grow with the size: those that were put in") {
  const RateClasses two = rate_classes(made(512, 2048, 8, [](auto d) { return d >= 16 ? 1 : 0.8; }));
  CHECK(words(two) == "8..8 16..64 ");
  CHECK(two.classes[0].relative.value == doctest::Approx(0.8).epsilon(0.005));
  CHECK(two.classes[0].sizes == 96);
  CHECK(two.left_out == 0);
  const RateClasses all = rate_classes(made(1024, 1280, 1, [](auto d) { return 0.4 + 0.1 * std::log2(d); }));
  CHECK(words(all) == "1..1 2..2 4..4 8..8 16..16 32..32 64..64 ");
  CHECK(all.classes[1].relative.value == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("where nothing differs there is one class, also where the sizes scatter more than 2 %") {
  CHECK(words(rate_classes(made(512, 2048, 8, [](auto) { return 1; }))) == "8..64 ");
  CHECK(words(rate_classes(made(
            512, 2048, 8, [](auto) { return 1; }, 0.05))) == "8..64 ");
  // 1 % is nothing, however sure it is.
  CHECK(words(rate_classes(made(
            512, 2048, 8, [](auto d) { return d > 8 ? 1 : 0.99; }, 1e-5))) == "8..64 ");
  // 3 % is a class where it is sure, and none where intervals touch.
  CHECK(words(rate_classes(made(
            1024, 1088, 8, [](auto d) { return d > 8 ? 1 : 0.97; }, 1e-4))) == "8..8 16..64 ");
  CHECK(words(rate_classes(made(
            1024, 1088, 32, [](auto d) { return d > 32 ? 1 : 0.97; }, 0.04))) == "32..64 ");
}

TEST_CASE("a size is compared with neighbours within 64 only") {
  const RateClasses some = rate_classes(made(1000, 1020, 4, [](auto) { return 1; }));
  CHECK(some.classes.empty());
  CHECK(some.left_out == 6);
  const RateClasses one_side = rate_classes(made(
      1024, 1080, 8, [](auto) { return 1; }, 1e-4));
  CHECK(one_side.left_out == 0);
  CHECK(rate_classes({}).classes.empty());
}

}  // namespace drift_test
