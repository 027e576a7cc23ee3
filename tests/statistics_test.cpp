#include "npgpu/model/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "netpipe/engine/algorithms.hpp"

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
}

TEST_CASE("the interval lies between two pairs of order statistics, by hand") {
  // n = 6: the least and the greatest cover 31/32, the second pair 25/32. 0.95 is a tenth of the way, and the ends move
  // inwards by 5 * 0.1 / (1 + 4 * 0.1) = 5/14 of a step.
  const auto six = median_interval(Values{6, 5, 4, 3, 2, 1});
  REQUIRE(six);
  CHECK(six->low == doctest::Approx(1 + 5.0 / 14));
  CHECK(six->high == doctest::Approx(6 - 5.0 / 14));
  // n = 8: 127/128 and 119/128, 0.675 of the way: 7 * 0.675 / (1 + 6 * 0.675) = 4.725 / 5.05.
  Values v{10, 20, 30, 40, 50, 60, 70, 80};
  CHECK(median_interval(v)->low == doctest::Approx(10 + 10 * 4.725 / 5.05));
  CHECK(median_interval(v)->high == doctest::Approx(80 - 10 * 4.725 / 5.05));
  // n = 9: 492/512 of ranks 2 and 8, 420/512 of 3 and 7: 5.6/72 of the way, 7 * (5.6/72) / (2 + 5 * (5.6/72)).
  v.push_back(90);
  CHECK(median_interval(v)->low == doctest::Approx(20 + 10 * (39.2 / 172)));
  CHECK(median_interval(v)->high == doctest::Approx(80 - 10 * (39.2 / 172)));
  // n = 20: ranks 6 and 7 from either end. Many values: as the normal distribution says, 500 -+ 1.96 * 15.8.
  Values w;
  for (int i = 1; i <= 20; ++i) w.push_back(i);
  CHECK(median_interval(w)->low > 6);
  CHECK(median_interval(w)->low < 7);
  w.clear();
  for (int i = 1; i <= 1000; ++i) w.push_back(i);
  CHECK(median_interval(w)->low == doctest::Approx(500.5 - 1.96 * std::sqrt(250)).epsilon(0.002));
  // Another level: with two values the whole range covers one half, and nothing is between.
  CHECK(median_interval(Values{1, 2}, 0.5)->low == 1);
  CHECK(median_interval(Values{1, 2}, 0.5)->high == 2);
}

namespace {

// Of so many sets of `n` values: the share whose interval holds 0, the median that they are drawn about.
template <class Draw> double share_covered(std::size_t n, Draw draw) {
  constexpr int sets = 20'000;
  int covered = 0;
  for (int set = 0; set < sets; ++set) {
    Values v(n);
    for (double& x : v) x = draw();
    const auto i = median_interval(v);
    covered += i->low <= 0 && 0 <= i->high;
  }
  return static_cast<double>(covered) / sets;
}

}  // namespace

TEST_CASE("95 % means 94 to 96 %, whatever the values are like") {
  std::mt19937_64 random(20261125);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979 * uniform()); };
  const auto lognormal = [&] { return std::expm1(0.5 * normal()); };
  const auto laplace = [&] {
    const double u = uniform() - 0.5;
    return std::copysign(std::log1p(-2 * std::abs(u)), u);
  };
  for (const std::size_t n : {6, 7, 8, 9, 12}) {
    CAPTURE(n);
    for (const double share : {share_covered(n, normal), share_covered(n, lognormal), share_covered(n, laplace)}) {
      CHECK(share >= 0.94);
      CHECK(share <= 0.96);
    }
  }
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
  CHECK(burst.low == doctest::Approx(1 + 5.0 / 14));
  CHECK(burst.high == doctest::Approx(6 - 5.0 / 14));
  CHECK(burst.method.find("one visit") != std::string::npos);

  // A visit counts once, however many trials it has.
  const Estimate six = median_over_visits({{1}, {2, 2, 2, 2}, {3}, {4}, {5}, {6, 6}}, "us");
  CHECK(six.value == 3.5);
  CHECK(six.low == doctest::Approx(1 + 5.0 / 14));
  CHECK(six.high == doctest::Approx(6 - 5.0 / 14));

  // t = 12.71 with one degree of freedom; logarithms ln 2 and ln 8 about ln 4, standard error ln 2.
  const Estimate two = median_over_visits({{2}, {8}}, "us");
  CHECK(two.value == 5);
  CHECK(two.low == doctest::Approx(4 * std::pow(2.0, -12.7062)).epsilon(1e-4));
  CHECK(two.high == doctest::Approx(4 * std::pow(2.0, 12.7062)).epsilon(1e-4));

  // t = 4.303 with two degrees of freedom; logarithms 0, ln 2 and ln 4: standard deviation ln 2, of the mean over
  // sqrt(3).
  const Estimate three = median_over_visits({{1}, {2}, {4}}, "us");
  CHECK(three.low == doctest::Approx(2 * std::pow(2.0, -4.302653 / std::sqrt(3.0))).epsilon(1e-6));
  CHECK(three.high == doctest::Approx(2 * std::pow(2.0, 4.302653 / std::sqrt(3.0))).epsilon(1e-6));

  const Estimate zero = median_over_visits({{0}, {1}}, "us");
  CHECK(zero.value == 0.5);
  CHECK(std::isnan(zero.low));
}

TEST_CASE("the difference of two medians, as sure as their own spreads make it, here by hand") {
  // Medians 2 and 4; variances 1 and 4, of the medians 1.5708 times 1/3 and 4/3: Welch's t = 2 / sqrt(1.5708 * 5/3)
  // with 50/17 degrees of freedom.
  const MedianDifference d = median_difference(Values{1, 2, 3}, Values{2, 4, 6});
  CHECK(d.value == 2);
  CHECK(d.error == doctest::Approx(std::sqrt(1.5708 * 5 / 3)));
  CHECK(d.freedom == doctest::Approx(50.0 / 17));
  CHECK(d.p == doctest::Approx(0.305969).epsilon(1e-5));
  CHECK(d.high - d.value == doctest::Approx(student_quantile(0.975, 50.0 / 17) * d.error));
  CHECK(d.value - d.low == doctest::Approx(d.high - d.value));
  const MedianDifference back = median_difference(Values{2, 4, 6}, Values{1, 2, 3});
  CHECK(back.value == -2);
  CHECK(back.p == doctest::Approx(d.p));
  // One wild value moves no median.
  CHECK(median_difference(Values{1, 2, 3}, Values{2, 4, 1000}).value == 2);
  // What is known beyond the spreads has no degrees of freedom: alone it is normal.
  const MedianDifference known = median_difference(Values{5, 5}, Values{6, 6}, 0.25);
  CHECK(known.error == 0.5);
  CHECK(known.high == doctest::Approx(1 + 1.959964 * 0.5));
  CHECK(known.p == doctest::Approx(0.0455).epsilon(0.001));
}

TEST_CASE("differences without a spread, and of too few values") {
  const MedianDifference same = median_difference(Values{5, 5}, Values{5, 5, 5});
  CHECK(same.p == 1);
  CHECK(same.low == 0);
  CHECK(same.high == 0);
  CHECK(median_difference(Values{5, 5}, Values{6, 6}).p == 0);
  const MedianDifference one = median_difference(Values{1}, Values{2, 3, 4});
  CHECK(one.value == 2);
  CHECK(std::isnan(one.p));
  CHECK(std::isnan(one.low));
  CHECK(std::isnan(median_difference(Values{}, Values{1, 2}).value));
  // One side has no spread: the degrees of freedom are the other's.
  CHECK(median_difference(Values{0, 0, 0}, Values{1, 2, 3}).freedom == doctest::Approx(2));
}

TEST_CASE("Fisher: shares of two groups, against sums by hand") {
  CHECK(fisher(3, 4, 1, 4) == doctest::Approx(34.0 / 70));  // (1 + 16 + 16 + 1) / 70: 2 of 4 each is likelier
  CHECK(fisher(4, 4, 0, 4) == doctest::Approx(2.0 / 70));
  CHECK(fisher(2, 4, 2, 4) == doctest::Approx(1));
  CHECK(fisher(1, 10, 11, 14) == doctest::Approx(0.002759).epsilon(0.001));
  CHECK(fisher(0, 5, 0, 7) == doctest::Approx(1));
  CHECK(fisher(5, 5, 7, 7) == doctest::Approx(1));
}

TEST_CASE("how likely so many events or more are, against sums by hand") {
  CHECK(chance_of_at_least(0, 3, 0.5) == 1);
  CHECK(chance_of_at_least(1, 3, 0.5) == doctest::Approx(7.0 / 8));
  CHECK(chance_of_at_least(2, 3, 0.25) == doctest::Approx(10.0 / 64));  // 3 * 3 + 1 of 4 * 4 * 4
  CHECK(chance_of_at_least(3, 3, 0.25) == doctest::Approx(1.0 / 64));
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

TEST_CASE("drift reaches further on both sides, in quadrature, and is named") {
  const Estimate alone = median_over_visits({{10}, {11}, {12}, {13}, {14}, {15}}, "us");
  const Estimate e = with_drift(alone, 0.02);
  CHECK(e.value == 12.5);
  CHECK(std::log(12.5 / e.low) == doctest::Approx(std::hypot(std::log(12.5 / alone.low), 1.959964 * 0.02)));
  CHECK(std::log(e.high / 12.5) == doctest::Approx(std::hypot(std::log(alone.high / 12.5), 1.959964 * 0.02)));
  CHECK(half_width(e) == doctest::Approx((e.high - e.low) / 25));
  CHECK(e.method ==
        "median of 6 visits, 95 % interval from interpolated order statistics, and 2 % from round to round and run to "
        "run");
  CHECK(with_drift(alone, 3).low > 0);  // no time is negative
  // A difference may be negative: its interval is widened by shares of its value.
  const Estimate apart = with_drift({10, -2, 19, "us", {}}, 0.1);
  CHECK(apart.low == doctest::Approx(10 - std::hypot(12.0, 1.959964)));
  CHECK(apart.high == doctest::Approx(10 + std::hypot(9.0, 1.959964)));
  const Estimate none = with_drift(median_over_visits({{10}}, "us"), 0.02);
  CHECK(std::isnan(none.low));
  CHECK(std::isnan(half_width(none)));
  CHECK(none.method.find("run to run") == std::string::npos);
}

// The order of std::stable_sort, whatever is sorted and by what.

struct Word {
  std::string text{};
  int length = 0;
  bool operator==(const Word&) const = default;
};

TEST_CASE("what is equal keeps its order, upwards and downwards") {
  std::vector<Word> words{{"bb", 2}, {"a", 1}, {"aa", 2}, {"b", 1}, {"ccc", 3}};
  sort_stably(words, {}, &Word::length);
  CHECK(words == std::vector<Word>{{"a", 1}, {"b", 1}, {"bb", 2}, {"aa", 2}, {"ccc", 3}});
  sort_stably(words, std::ranges::greater{}, &Word::length);
  CHECK(words == std::vector<Word>{{"ccc", 3}, {"bb", 2}, {"aa", 2}, {"a", 1}, {"b", 1}});
}

TEST_CASE("it is the standard's order at each size, by a comparison of two elements") {
  std::mt19937 random(7);
  const auto shorter = [](const Word& a, const Word& b) { return a.length < b.length; };
  for (int size = 0; size < 40; ++size) {
    std::vector<Word> words;
    for (int i = 0; i < size; ++i) words.push_back({std::to_string(i), static_cast<int>(random() % 5)});
    std::vector<Word> expected = words;
    std::stable_sort(expected.begin(), expected.end(), shorter);
    sort_stably(words, shorter);
    CHECK(words == expected);
  }
}

TEST_CASE("elements are moved, and a key may be computed") {
  std::vector<std::unique_ptr<int>> owners;
  for (const int value : {3, 1, 2}) owners.push_back(std::make_unique<int>(value));
  sort_stably(owners, {}, [](const auto& one) { return *one % 3; });
  CHECK(*owners[0] == 3);
  CHECK(*owners[1] == 1);
  CHECK(*owners[2] == 2);
}

}  // namespace statistics_test
