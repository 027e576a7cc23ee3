// The one rule by which a figure is compared with a limit: never its value alone decides.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "npgpu/judge/fleet.hpp"
#include "npgpu/model/statistics.hpp"

namespace npgpu::model {

enum class Allowed { at_least, at_most };

enum class Ruling {
  ok,         // the interval is within the limit, or enough visits are, and the figure is not far beyond it
  slow,       // the whole interval is beyond it
  undecided,  // neither is certain
  no_limit,   // there is nothing to compare it with
  no_figure,  // no rate or time can be so: NaN, infinite, zero or negative
};

constexpr bool is_figure(double value) { return value > 0 && value < std::numeric_limits<double>::infinity(); }

// How many visits are within the limit.
std::size_t visits_within(std::span<const double> by_visit, Allowed, double limit);

// `by_visit`: the figure of each visit that counts; empty if not known. What others do on a machine, seen or unseen,
// only slows down, and comes and goes: a link that reaches its rate in some visits can reach it. So a figure is ok as
// well where a quarter of all visits or more reach the limit, with 95 % confidence (binomial, both sides): 3 of 3, 5 of
// 6, 6 of 9, 9 of 18. It is undecided if it is more than twice as bad as the limit all the same.
Ruling rule(const Estimate&, Allowed, double limit, std::span<const double> by_visit = {});

// The least number, of `count` that are alike and each happen by chance, that more than the usual share explains: as
// many come at most once in a thousand runs where the share is the usual one (binomial, one side). For a quarter: 8 of
// 9, 14 of 24, 294 of 1000. More than `count` where even all of them could be chance.
std::size_t least_beyond_chance(std::size_t count, double usual_share);

// A rate above 105 % of what a link, memory or clock could do at most: then that limit is not true.
inline constexpr double most_share_of_a_true_limit = 1.05;

// GPUs of one model compared with each other: how much healthy ones differ, and which of them is beyond that.

// Standard deviation of a logarithm among healthy GPUs of one model, runs of one GPU included, and the least share that
// anybody would act on.
struct KnownScatter {
  double sigma = 0, least = 0;
};
KnownScatter known_scatter(FigureKind);

// What GPUs are compared with. All are logarithms: of times, or of what else is better where it is less.
struct Standard {
  double center = 0;            // the lower median: of two GPUs the faster
  double sigma = not_measured;  // the scatter, or that of the slow side where it is wider
  double unit = not_measured;   // what is known and what is seen of the scatter, together
  double limit = not_measured;  // a healthy one is beyond center + limit with the given chance
};
// From the center outwards each value is compared with those within it, as long as it is not beyond their limit. Their
// scatter is what all show, or what the slowest of them shows (of more than twenty: the slowest but 5 %), if that is
// more. Healthy clocks are at a ceiling, and most others below it at any distance, so that most values say little of
// how far the slow ones may be. A sick GPU is beyond a gap; what lies beyond the gap does not widen the limit. NaNs do
// not count. What is known counts as much as ten degrees of freedom, what is seen as the median absolute deviation of
// so many is worth; the limit is that quantile of Student's t, of at most 50 degrees since real tails are longer than
// those of the normal distribution, but at least what anybody would act on.
Standard standard_of(std::span<const double> logs, const KnownScatter&, double chance);

// Standard deviation from the median absolute deviation, as large on average as that of many values. NaNs do not count.
double scatter_of(std::span<const double> logs);
// The median; of an even number of values the lower of the two in the middle. NaN of nothing. Takes no NaN.
double lower_median(std::vector<double>);

// The ruling on a time, as shares of the others' (0.02: 2 % more): its value, the end of its interval at which it is
// best, and the limit. What straddles the limit is undecided only where it is not as the others' either.
Ruling rule_apart(double share, double low, double limit);

bool is_rate(FigureUnit);
// Logarithm of the time that a figure stands for, up to a constant: more is worse. NaN where the value is not positive.
double log_time(double value, FigureUnit);
std::string text_of_figure(double value, FigureUnit);  // "27.90 GB/s"
// Whether a GPU is taken out of service for it.
constexpr bool is_grave(FigureKind kind) {
  return kind == FigureKind::link || kind == FigureKind::memory || kind == FigureKind::compute;
}

}  // namespace npgpu::model
