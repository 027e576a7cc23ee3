// The one rule by which a figure is compared with a limit: never its value alone decides.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "npgpu/statistics.hpp"

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

// Of visits, those within the limit.
std::size_t visits_within(std::span<const double> by_visit, Allowed, double limit);

// `by_visit`: the figure of each visit that counts; empty if not known. What others do on a machine, seen or unseen,
// only slows down, and comes and goes: a link that reaches its rate in some visits can reach it. So a figure is ok as
// well where a quarter of all visits or more reach the limit, with 95 % confidence (binomial, both sides): 3 of 3, 5 of
// 6, 6 of 9, 9 of 18. It is undecided if it is more than twice as bad as the limit all the same.
Ruling rule(const Estimate&, Allowed, double limit, std::span<const double> by_visit = {});

// Of `count` that are alike and each happen by chance, the least number that more than the usual share explains: as
// many come at most once in a thousand runs where the share is the usual one (binomial, one side). Of a quarter: 8 of
// 9, 14 of 24, 294 of 1000. More than `count` where even all of them could be chance.
std::size_t least_beyond_chance(std::size_t count, double usual_share);

// A rate above 105 % of what a link, memory or clock could do at most: then that limit is not true.
inline constexpr double most_share_of_a_true_limit = 1.05;

}  // namespace npgpu::model
