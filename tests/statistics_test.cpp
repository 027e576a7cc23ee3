#include "npgpu/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

namespace statistics_test {

using namespace npgpu;
using Values = std::vector<double>;

TEST_CASE("median: the one in the middle, or the mean of the two") {
  CHECK(median(Values{7}) == 7);
  CHECK(median(Values{3, 1, 2}) == 2);
  CHECK(median(Values{4, 1, 3, 2}) == 2.5);
  CHECK(median(Values{1e300, 1e300}) == 1e300);
}

TEST_CASE("fewer than six values carry no 95 % interval") {
  CHECK_FALSE(median_interval(Values{}));
  CHECK_FALSE(median_interval(Values{1, 2, 3, 4, 5}));
  // 1 - 2 * (1/2)^6 = 0.969: the whole range.
  const auto six = median_interval(Values{6, 5, 4, 3, 2, 1});
  REQUIRE(six);
  CHECK(six->low == 1);
  CHECK(six->high == 6);
}

TEST_CASE("ranks of the interval, from the binomial by hand") {
  // n = 8: P(B <= 1) = 9/256 = 0.035 > 0.025, so the whole range; n = 9: 10/512 = 0.0195, so ranks 2 and 8.
  Values v{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(median_interval(v)->low == 1);
  v.push_back(9);
  CHECK(median_interval(v)->low == 2);
  CHECK(median_interval(v)->high == 8);
  // n = 20: P(B <= 5) = 0.0207, P(B <= 6) = 0.0577: ranks 6 and 15.
  Values w;
  for (int i = 1; i <= 20; ++i) w.push_back(i);
  CHECK(median_interval(w)->low == 6);
  CHECK(median_interval(w)->high == 15);
}

TEST_CASE("the interval covers the true median as often as it says") {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> skewed(1);
  const double truth = std::log(2.0);
  int covered = 0;
  for (int run = 0; run < 2000; ++run) {
    Values v(25);
    for (double& x : v) x = skewed(random);
    const auto i = median_interval(v);
    covered += i->low <= truth && truth <= i->high;
  }
  CHECK(covered >= 1880);  // 95 % of 2000 is 1900; the binomial's deviation is 10
}

namespace {

// How many of 2000 points, each visited `visits` times for 3 trials, have their true median in the interval. Visits
// differ by a factor that `of_visit` draws, whose median is 1, trials by 1 %.
template <class OfVisit> int covered(std::size_t visits, OfVisit of_visit) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> of_trial(1, 0.01);
  int count = 0;
  for (int run = 0; run < 2000; ++run) {
    ByVisit values(visits);
    for (auto& visit : values) {
      const double factor = of_visit(random);
      for (int trial = 0; trial < 3; ++trial) visit.push_back(10 * factor * of_trial(random));
    }
    const Estimate e = median_over_visits(values, "us");
    count += e.low <= 10 && 10 <= e.high;
  }
  return count;
}

}  // namespace

TEST_CASE("over visits the interval covers the truth as often as it says, where trials alone would not") {
  std::lognormal_distribution<double> spread(0, 0.05);
  const auto lognormal = [&](auto& random) { return spread(random); };
  // Visits of an exponential distribution about its median: only rank statistics know nothing of a shape.
  std::exponential_distribution<double> exponential(std::log(2.0));
  const auto skewed = [&](auto& random) { return exponential(random); };
  for (const std::size_t visits : {2, 3, 4, 5, 6, 7, 9, 12}) {
    CAPTURE(visits);
    CHECK(covered(visits, lognormal) >= 1870);  // 95 % of 2000 is 1900; the binomial's deviation is 10
    if (visits >= 6) CHECK(covered(visits, skewed) >= 1870);
  }
  // One burst has no notion of others: its interval is of that burst.
  CHECK(covered(1, lognormal) < 1000);
}

TEST_CASE("what an estimate over visits rests on") {
  const Estimate none = median_over_visits({{}, {}}, "us");
  CHECK(std::isnan(none.value));
  CHECK(none.method == "no usable trial");

  const Estimate burst = median_over_visits({{}, {6, 5, 4, 3, 2, 1}}, "us");
  CHECK(burst.value == 3.5);
  CHECK(burst.low == 1);
  CHECK(burst.high == 6);
  CHECK(burst.method.find("one visit") != std::string::npos);

  // A visit counts once, however many trials it has.
  const Estimate six = median_over_visits({{1}, {2, 2, 2, 2}, {3}, {4}, {5}, {6, 6}}, "us");
  CHECK(six.value == 3.5);
  CHECK(six.low == 1);
  CHECK(six.high == 6);

  // t = 12.71 with one degree of freedom; logarithms ln 2 and ln 8 about ln 4, standard error ln 2.
  const Estimate two = median_over_visits({{2}, {8}}, "us");
  CHECK(two.value == 5);
  CHECK(two.low == doctest::Approx(4 * std::pow(2.0, -12.7062)).epsilon(1e-4));
  CHECK(two.high == doctest::Approx(4 * std::pow(2.0, 12.7062)).epsilon(1e-4));

  const Estimate zero = median_over_visits({{0}, {1}}, "us");
  CHECK(zero.value == 0.5);
  CHECK(std::isnan(zero.low));
}

TEST_CASE("Welch: the difference of two means by their own spreads, here by hand") {
  // Means 2 and 4, variances 1 and 4, of the means 1/3 and 4/3: t = 2 / sqrt(5/3) with 50/17 degrees of freedom.
  const MeanDifference d = welch(Values{1, 2, 3}, Values{2, 4, 6});
  CHECK(d.value == doctest::Approx(2));
  CHECK(d.p == doctest::Approx(0.2208808).epsilon(1e-6));
  CHECK(d.low == doctest::Approx(-2.1553995).epsilon(1e-6));
  CHECK(d.high == doctest::Approx(6.1553995).epsilon(1e-6));
  const MeanDifference back = welch(Values{2, 4, 6}, Values{1, 2, 3});
  CHECK(back.value == doctest::Approx(-2));
  CHECK(back.p == doctest::Approx(d.p));
}

TEST_CASE("Welch without a spread, and with too few values") {
  const MeanDifference same = welch(Values{5, 5}, Values{5, 5, 5});
  CHECK(same.p == 1);
  CHECK(same.low == 0);
  CHECK(same.high == 0);
  CHECK(welch(Values{5, 5}, Values{6, 6}).p == 0);
  const MeanDifference one = welch(Values{1}, Values{2, 3, 4});
  CHECK(one.value == 2);
  CHECK(std::isnan(one.p));
  CHECK(std::isnan(one.low));
  CHECK(std::isnan(welch(Values{}, Values{1, 2}).value));
  // One side has no spread: the degrees of freedom are the other's.
  CHECK(welch(Values{0, 0, 0}, Values{1, 2, 3}).p == doctest::Approx(0.0741799).epsilon(1e-6));
}

TEST_CASE("Fisher: shares of two groups, against sums by hand") {
  CHECK(fisher(3, 4, 1, 4) == doctest::Approx(34.0 / 70));  // (1 + 16 + 16 + 1) / 70: 2 of 4 each is likelier
  CHECK(fisher(4, 4, 0, 4) == doctest::Approx(2.0 / 70));
  CHECK(fisher(2, 4, 2, 4) == doctest::Approx(1));
  CHECK(fisher(1, 10, 11, 14) == doctest::Approx(0.002759).epsilon(0.001));
  CHECK(fisher(0, 5, 0, 7) == doctest::Approx(1));
  CHECK(fisher(5, 5, 7, 7) == doctest::Approx(1));
}

TEST_CASE("Holm: the smallest p times the number of tests, the next times one less, never below the one before") {
  CHECK(holm(Values{0.01, 0.04, 0.03}) == Values{0.03, 0.06, 0.06});
  CHECK(holm(Values{0.5, 0.6}) == Values{1, 1});
  CHECK(holm(Values{}).empty());
  const Values raised = holm(Values{not_measured, 0.02, 0.5});
  CHECK(std::isnan(raised[0]));
  CHECK(raised[1] == 0.04);  // of two tests
  CHECK(raised[2] == 0.5);
}

TEST_CASE("drift reaches further on both sides, and is named") {
  const Estimate e = with_drift(median_over_visits({{10}, {11}, {12}, {13}, {14}, {15}}, "us"), 0.02);
  CHECK(e.value == 12.5);
  CHECK(e.low == doctest::Approx(9.75));
  CHECK(e.high == doctest::Approx(15.25));
  CHECK(e.method == "median of 6 visits, 95 % interval from order statistics, and 2 % of drift");
  const Estimate none = with_drift(median_over_visits({{10}}, "us"), 0.02);
  CHECK(std::isnan(none.low));
  CHECK(none.method.find("drift") == std::string::npos);
}

}  // namespace statistics_test
