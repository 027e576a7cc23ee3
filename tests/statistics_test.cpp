#include "npgpu/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

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
