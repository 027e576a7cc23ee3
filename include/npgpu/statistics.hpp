// Medians and their intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu {

struct Interval {
  double low = 0;
  double high = 0;
};

// Of a non-empty set, in any order. Even number of values: the mean of the two in the middle.
double median(std::span<const double> values);

// Nonparametric interval of the median from order statistics (binomial; Hoefler & Belli, SC15,
// rule 5). Nothing where there are too few values for the level: 6 are needed for 0.95.
std::optional<Interval> median_interval(std::span<const double> values, double level = 0.95);

// A value with its 95 % interval. low = high = NaN where the data do not give one.
struct Estimate {
  double value = not_measured;
  double low = not_measured;
  double high = not_measured;
  std::string unit;
  std::string method;
};

// What B's mean is more than A's.
struct MeanDifference {
  double value = not_measured;                     // mean of b less mean of a
  double low = not_measured, high = not_measured;  // its interval
  double p = not_measured;  // of a difference as large in either direction, if the means were the same
};
// Of two independent sets of values whose spreads may differ (Welch 1947; degrees of freedom as in his equation 28).
// Two values a side are the least: with fewer, the difference is all there is, and without any, nothing. Where neither
// side has a spread the interval is the difference alone, and p is 0, or 1 where there is no difference.
MeanDifference welch(std::span<const double> a, std::span<const double> b, double level = 0.95);
// The quantile of Student's t distribution.
double student_quantile(double p, double freedom);

// Of `a` and `b` values, `in_a` and `in_b` lie in one of two groups: the probability of shares as different as these or
// more so, if both sides met that group equally often (Fisher's exact test, 1934, in both directions).
double fisher(std::uint32_t in_a, std::uint32_t a, std::uint32_t in_b, std::uint32_t b);

// The p of several tests, each raised so that one below x may be called significant at x, whatever the others are
// (Holm 1979). In the same order. A NaN stays NaN and counts for no test.
std::vector<double> holm(std::span<const double> p);

// The values of one point, visit by visit.
using ByVisit = std::vector<std::vector<double>>;

// The median over the visits of the medians within: what changes from burst to burst is as much in its interval as what
// changes from trial to trial. The interval, of 95 %:
//   from 6 visits on  nonparametric, from the visits' medians
//   2 to 5 visits     Student's t on the logarithms of the visits' medians, which have to be positive
//   1 visit           nonparametric, from its values: of that burst only, and the method says so
// Visits without a value do not count. NaN, with the reason as the method, where no value is left.
Estimate median_over_visits(const ByVisit&, std::string unit);

// The same with an interval that reaches further by `share` of the value on either side; the method says so.
Estimate with_drift(Estimate, double share);

}  // namespace npgpu
