// Medians and their intervals, tests of differences, and the regret of a choice among measured alternatives.
//
// Example:
//   const std::vector<double> us{5.2, 5.0, 5.1, 5.4, 5.0, 5.3};
//   const auto interval = npgpu::median_interval(us);  // nothing of fewer than 6 values
//   if (interval) std::cout << npgpu::median(us) << ", " << interval->low << " to " << interval->high << '\n';
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/vocabulary/units.hpp"

namespace npgpu {

struct Interval {
  double low = 0;
  double high = 0;
};

// The median of values in any order; of an even number of values, the mean of the two in the middle. REQUIRES: there is
// at least one value.
double median(std::span<const double> values);

// Nonparametric interval of the median (Hoefler & Belli, SC15, rule 5) from order statistics, interpolated between the
// two pairs whose coverage by the binomial is just above and just below the level (Hettmansperger & Sheather 1986,
// Stat. Probab. Lett. 4): without that, 6 values cover 0.969 and 8 values 0.992 where 0.95 was asked for. Nothing where
// there are too few values for the level: 6 are needed for 0.95.
std::optional<Interval> median_interval(std::span<const double> values, double level = 0.95);

// A value with its 95 % interval. low = high = NaN where the data do not give one. Of times and rates of a trace the
// interval is meant for the next run, too: see with_drift().
struct Estimate {
  double value = not_measured;
  double low = not_measured;
  double high = not_measured;
  std::string unit;
  std::string method;
};

// Half the interval's width over the value; NaN where there is no interval.
double half_width(const Estimate&);

// What B's median is more than A's.
struct MedianDifference {
  double value = not_measured;
  double low = not_measured, high = not_measured;  // its interval
  double p = not_measured;        // of a difference as large in either direction, if the medians were the same
  double error = not_measured;    // its standard deviation
  double freedom = not_measured;  // of the spread that this comes from; infinite where it is known
};
// The spread that is usual for sets like one of these, worth so many degrees of freedom.
struct UsualSpread {
  double variance = 0;
  double freedom = 0;
};
// The difference of the medians of two independent sets of values whose spreads may differ. How sure it is follows from
// these spreads as of means (Welch 1947; degrees of freedom as in his equation 28), with the larger error that a median
// of normal values has; the median itself, because a few wild values move a mean and its test. `known_variance`: what
// sets differ by beyond their spreads. `usual`: of few values the spread is hardly known, and is taken together with
// what is usual (as Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3, does), but never for less than it was. Two values a
// side are the least: with fewer, the difference is all there is, and without any, nothing. Where nothing varies the
// interval is the difference alone, and p is 0, or 1 where there is no difference.
MedianDifference median_difference(std::span<const double> a, std::span<const double> b, double known_variance = 0,
                                   const std::array<UsualSpread, 2>& usual = {}, double level = 0.95);
// The variance of values about their mean; NaN of fewer than two.
double variance(std::span<const double> values);
// The square root of the sum of squares. Programs that call std::hypot need a C library of 2022.
double in_quadrature(double a, double b);
// How likely a value of Student's t distribution is as far from 0 as this, in either direction. Infinite: the normal
// one.
double student_p(double t, double freedom);
// The quantile of Student's t distribution.
double student_quantile(double p, double freedom);
// How likely `least` or more of `n` independent events happen, each with probability p.
double chance_of_at_least(std::size_t least, std::size_t n, double p);

// `in_a` of `a` values and `in_b` of `b` lie in one of two groups: the probability of shares as different as these or
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

// So many standard deviations to either side of a normal distribution's mean hold 95 % of it.
constexpr double of_95_percent = 1.959964;
// The same where the value is also moved by what its visits do not show, by a standard deviation of `share` of it: what
// all points of a run share, and what differs from run to run (npgpu/model/result.hpp). 1.96 times that is added in
// quadrature to either side of the interval; the method says so.
Estimate with_drift(Estimate, double share);

// The regret of a choice among measured alternatives: how much longer the choice takes than the best of them. The
// alternatives may be the numbers of streams that a job was measured in.
//
// The raw regret is the time of the choice over the shortest measured time, less 1. The shortest of several noisy times
// is too short, the more so the more alternatives are nearly as good. So even perfect advice has a raw regret above 0,
// and no advice has one below 0.
//
// The cross-validated regret removes that bias. Each visit (round of the run) is left out in turn. The other visits
// select the best alternative, and the visit left out compares the choice with it. That visit selected neither, so its
// noise favours neither. The regret is the median of these comparisons. It is below 0 where the choice was better than
// the best by measurements with one visit fewer; for perfect advice it is slightly below 0. The choice must not depend
// on these times either: a fitted model is fitted to other jobs.
//
// In tests/regret_test.cpp 16 alternatives with known true times scatter by 3 % from visit to visit, in 6 visits.
// Perfect advice has a mean raw regret of 1.4 %, and a cross-validated one within 0.1 % of 0. Advice with a true cost
// of 1.0 % has 2.4 % and 0.9 %.
//
// Example:
//   const std::vector<npgpu::ByRound> us_of{{{0, 41.0}, {1, 40.5}, {2, 41.3}},   // in one stream, round by round
//                                           {{0, 30.2}, {1, 30.9}, {2, 30.4}},   // in two
//                                           {{0, 30.0}, {1, 30.6}, {2, 30.5}}};  // in four
//   const npgpu::Estimate regret = npgpu::cross_validated_regret(us_of, 1);
//   std::cout << "two streams cost " << 100 * regret.value << " % more than the best\n";

// The median time of each visit of a point, by round.
using ByRound = std::map<std::uint32_t, double>;

// The cross-validated regret, with the interval of a median over visits (median_over_visits()). In each round only
// those alternatives count that were visited in it and in another round. NaN, with the reason as the method, where
// fewer than two rounds compare the choice.
Estimate cross_validated_regret(std::span<const ByRound> alternatives, std::size_t chosen);

// The regret of measuring all alternatives in place of advice. The even rounds select the best, and the odd rounds give
// its time over their shortest one, less 1; then the other way round. These are raw regrets, with the bias of the
// shortest time of half the rounds. Empty where fewer than two alternatives were visited in both halves.
std::vector<double> regrets_of_measuring(std::span<const ByRound> alternatives);

}  // namespace npgpu
