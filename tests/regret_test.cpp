// Regret: by hand, and of made measurements whose truth is known.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/model/medians.hpp"
#include "npgpu/model/statistics.hpp"

namespace regret_test {

using namespace npgpu;

TEST_CASE("each visit compares the choice with what the other visits find best") {
  // Left out 0: of (11, 12) and (20, 10), medians 11.5 and 15, the first is best; so also without 2. Without 1 it is
  // 11 and 9.
  const std::vector<ByRound> us{{{0, 10}, {1, 11}, {2, 12}}, {{0, 8}, {1, 20}, {2, 10}}};
  const Estimate first = cross_validated_regret(us, 0), second = cross_validated_regret(us, 1);
  CHECK(first.value == doctest::Approx(0));               // of 10/10, 11/20 and 12/12
  CHECK(second.value == doctest::Approx(10.0 / 12 - 1));  // of 8/10, 20/20 and 10/12
  CHECK(second.low < second.value);
  CHECK(second.high > second.value);
}

TEST_CASE("rounds that lack the choice or leave nothing to choose by do not count") {
  const std::vector<ByRound> gaps{{{0, 10}, {1, 10}, {3, 10}}, {{0, 5}, {1, 5}, {2, 5}}, {{0, 1}}};
  CHECK(cross_validated_regret(gaps, 0).value == doctest::Approx(1));  // rounds 0 and 1; in round 3 it is alone: 0
  const std::vector<ByRound> one_round{{{0, 10}}, {{0, 8}}};
  CHECK(std::isnan(cross_validated_regret(one_round, 0).value));
  CHECK(cross_validated_regret(one_round, 0).method == "fewer than two rounds measured the choice and others");
}

TEST_CASE("measuring before: each half of the rounds chooses, and the other half times") {
  // Medians of rounds 0 and 2: 11 and 9; of 1 and 3: 10 and 12.
  const std::vector<ByRound> us{{{0, 10}, {1, 9}, {2, 12}, {3, 11}}, {{0, 8}, {1, 12}, {2, 10}, {3, 12}}, {{0, 1}}};
  const std::vector<double> regrets = regrets_of_measuring(us);
  REQUIRE(regrets.size() == 2);
  CHECK(regrets[0] == doctest::Approx(12.0 / 10 - 1));
  CHECK(regrets[1] == doctest::Approx(11.0 / 9 - 1));
  CHECK(regrets_of_measuring(std::span(us).last(2)).empty());  // one alternative is no choice
}

// Jobs whose true times are 1 + a/n + b n, each number of streams visited 6 times with a scatter of 3 %; one visit in
// 20 takes longer, and rounds drift by 1 % together. The choice is `off` places beyond the best.
TEST_CASE("true times are known: the raw regret is too high even for perfect advice, the cross-validated is not") {
  const std::vector<double> streams{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64};
  constexpr int jobs = 2000;
  constexpr std::uint32_t rounds = 6;
  for (const std::size_t off : {0, 2, 4}) {
    std::mt19937_64 random{20'261'123};
    const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 1) * 0x1p-53; };
    std::vector<double> truth, raw, validated;
    for (int job = 0; job < jobs; ++job) {
      const double a = 0.2 + 0.7 * uniform(), b = 0.001 + 0.009 * uniform();
      std::vector<double> drift, us, measured;
      for (std::uint32_t r = 0; r < rounds; ++r) drift.push_back(std::exp(0.01 * normal(uniform)));
      std::vector<ByRound> by_round;
      for (const double n : streams) {
        us.push_back(1 + a / n + b * n);
        std::vector<double> visits;
        ByRound& own = by_round.emplace_back();
        for (std::uint32_t r = 0; r < rounds; ++r) {
          visits.push_back(us.back() * drift[r] * std::exp(0.03 * normal(uniform)));
          if (uniform() < 0.05) visits.back() *= 1 - 0.3 * std::log(uniform());
          own[r] = visits.back();
        }
        measured.push_back(median(visits));
      }
      const auto best = static_cast<std::size_t>(std::ranges::min_element(us) - us.begin());
      const std::size_t chosen = std::min(best + off, us.size() - 1);
      truth.push_back(us[chosen] / us[best] - 1);
      raw.push_back(measured[chosen] / *std::ranges::min_element(measured) - 1);
      validated.push_back(cross_validated_regret(by_round, chosen).value);
    }
    const double is = model::mean_of(truth), raw_is = model::mean_of(raw), validated_is = model::mean_of(validated);
    CAPTURE(off);
    CAPTURE(is);
    CAPTURE(raw_is);
    CAPTURE(validated_is);
    CHECK(raw_is > is + 0.012);
    CHECK(std::abs(validated_is - is) < (off == 0 ? 0.001 : 0.005));
    // Its noise has no side.
    if (off == 0) CHECK(std::abs(median(validated)) < 0.001);
  }
}

}  // namespace regret_test
