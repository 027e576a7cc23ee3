// Least squares by hand, where columns depend on each other, and as Eigen's complete orthogonal decomposition had them.
#include "netpipe/model/least_squares.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace least_squares_test {

using namespace npgpu;

namespace {

void check_near(const LongNumbers& found, const LongNumbers& wanted, long double within = 1e-15L) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - wanted[i]) <= within * std::abs(wanted[i]));
  }
}

// 1, n, n^2, ... for n = step, 2 step, ...
LongNumbers powers(int rows, int columns, long double step = 1) {
  LongNumbers a;
  for (int i = 1; i <= rows; ++i)
    for (int power = 0; power < columns; ++power) a.push_back(std::pow(i * step, static_cast<long double>(power)));
  return a;
}

}  // namespace

TEST_CASE("a line through four points that miss it by 1 is found, and its errors are those of the textbook") {
  const LongNumbers a = powers(4, 2),
                    y{5 + 1, 8 - 1, 11 - 1, 14 + 1};  // 2 + 3 n, and what is orthogonal to both columns
  const LongNumbers x = scaled_least_squares(2, a, y);
  check_near(x, {2, 3});
  // What is left is 4, of 2 degrees of freedom; the sum of squares about the mean of n is 5.
  check_near(errors_of_least_squares(2, a, y, x), {std::sqrt(2 * (1 / 4.0L + 2.5L * 2.5L / 5)), std::sqrt(2 / 5.0L)});
}

TEST_CASE("equal columns share what one of them would have") {
  const LongNumbers a{1, 1, 2, 2, 3, 3}, y{2, 4, 6.5};
  const LongNumbers x = scaled_least_squares(2, a, y), one = scaled_least_squares(1, {1, 2, 3}, y);
  check_near(x, {one[0] / 2, one[0] / 2});
  const LongNumbers error = errors_of_least_squares(2, a, y, x);
  CHECK(error[0] > 0);
  CHECK(error[0] < 1);
}

TEST_CASE("columns that differ by less than 1e-15 are the same column") {
  LongNumbers a, y;
  for (int n = 1; n <= 9; ++n) {
    a.insert(a.end(), {1.0L * n, n + (n % 2 == 1 ? 1e-17L : -1e-17L)});
    y.push_back(3 * n + n % 3);
  }
  const LongNumbers x = scaled_least_squares(2, a, y);
  check_near(x, {1.57368421052631579L, 1.57368421052631579L});
  check_near(errors_of_least_squares(2, a, y, x), {0.0332276387879463956L, 0.0332276387879463956L});
}

TEST_CASE("a column that is the sum of two others, a million times as large: the shortest of the scaled answers") {
  LongNumbers a, y;
  for (int n = 1; n <= 6; ++n) {
    a.insert(a.end(), {1, n * 1e6L, 2 + n * 3e6L});
    y.push_back(n * n);
  }
  const LongNumbers x = scaled_least_squares(3, a, y);
  check_near(x, {-9.33333566666617094L, 3.50000074358973176e-06L, 1.16666641880342275e-06L});
  check_near(errors_of_least_squares(3, a, y, x),
             {3.28408082185014931L, 4.21637151090245605e-07L, 1.40545630540441531e-07L});
}

TEST_CASE("fewer rows than columns, and columns of zeros") {
  check_near(scaled_least_squares(3, {1, 2, 3, 4, 5, 7}, {1, 2}),
             {-0.252373417721518988L, 0.261867088607594937L, 0.242879746835443038L});
  const LongNumbers a{1, 0, 1, 0, 1, 0}, y{1, 2, 4};
  const LongNumbers x = scaled_least_squares(2, a, y);
  check_near(x, {7 / 3.0L, 0});
  check_near(errors_of_least_squares(2, a, y, x), {1.24721912892464713L, 0});
  check_near(scaled_least_squares(2, {0, 0, 0, 0, 0, 0}, y), {0, 0});
}

TEST_CASE("what is not a number spoils the answer and does not hang") {
  for (const long double x : scaled_least_squares(2, {1, NAN, 1, 2, 1, 4}, {1, 2, 4})) CHECK(std::isnan(x));
}

TEST_CASE("microseconds beside megabytes, as Eigen had them") {
  LongNumbers a, y;
  for (int i = 0; i < 8; ++i) {
    const long double bytes = std::pow(8.0L, i + 1.0L), s = 3e-6L + bytes / 25e9L * (1 + 0.01L * (i % 3));
    a.insert(a.end(), {1 / s, bytes / s});
    y.push_back(1);
  }
  const LongNumbers x = scaled_least_squares(2, a, y);
  check_near(x, {3.00107882693956876e-06L, 4.03434249624336995e-11L});
  check_near(errors_of_least_squares(2, a, y, x), {7.13431887854548052e-09L, 1.24310384819967668e-13L});
}

TEST_CASE("polynomials, as Eigen had them") {
  LongNumbers y;
  for (int n = 1; n <= 12; ++n) y.push_back(1 / static_cast<long double>(n) + n % 4);
  const LongNumbers quartic = scaled_least_squares(5, powers(12, 5), y);
  check_near(quartic, {0.586815849694637597L, 2.20067277232681272L, -0.811509005164308191L, 0.102459210729412749L,
                       -0.00417512832285559556L});
  check_near(
      errors_of_least_squares(5, powers(12, 5), y, quartic),
      {3.50025225253510001L, 3.4033175479766761L, 1.0075855621949116L, 0.114319177323669006L, 0.00437069730389355785L});
  y.clear();
  for (int n = 1; n <= 16; ++n) y.push_back(std::log(n * 1e5L));
  check_near(scaled_least_squares(8, powers(16, 8, 1e5L), y),
             {10.3047687523481765L, 1.59280580171786838e-05L, -4.60724922522793533e-11L, 8.64479879873751815e-17L,
              -9.83492856477854071e-23L, 6.55854029597913626e-29L, -2.35298730774981973e-35L, 3.49976308849906823e-42L},
             1e-12L);
}

}  // namespace least_squares_test
