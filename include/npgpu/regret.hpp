// What a choice among measured alternatives costs: a number of streams among those that a job was measured in.
//
// The raw regret is the time of the chosen one over the least time measured, less 1. The least of noisy times is too
// short, and the more so the more alternatives are nearly as good. So even perfect advice has a raw regret above 0, and
// none has one below.
//
// The cross-validated regret takes that luck out. Each visit (round of the run) is left out in turn. The other visits
// say which alternative is best, and the visit left out times the choice and that best one. Neither was selected by the
// visit that compares them, so its noise favours none. The regret is the median of these comparisons; it is below 0
// where the choice was better than measuring with one visit fewer. For perfect advice it is 0 but for the error of that
// measuring: slightly below. What is chosen must not rest on these times either: a model that is fitted is fitted to
// other jobs.
//
// In tests/regret_test.cpp 16 alternatives whose true times are known scatter by 3 % from visit to visit, in 6 visits.
// Perfect advice has a raw regret of 1.4 % in the mean, and a cross-validated one within 0.1 % of 0. Advice that truly
// costs 1.0 % has 2.4 % and 0.9 %.
//
// Example:
//   const std::vector<npgpu::ByRound> us_of{{{0, 41.0}, {1, 40.5}, {2, 41.3}},   // in one stream, round by round
//                                           {{0, 30.2}, {1, 30.9}, {2, 30.4}},   // in two
//                                           {{0, 30.0}, {1, 30.6}, {2, 30.5}}};  // in four
//   const npgpu::Estimate regret = npgpu::cross_validated_regret(us_of, 1);
//   std::cout << "two streams cost " << 100 * regret.value << " % more than the best\n";
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "npgpu/statistics.hpp"

namespace npgpu {

// The median time of each visit of a point, by round.
using ByRound = std::map<std::uint32_t, double>;

// As above, with the interval of a median over visits (median_over_visits()). In each round only alternatives count
// that were visited in it and in another one. NaN, with the reason as the method, where fewer than two rounds compare
// the choice.
Estimate cross_validated_regret(std::span<const ByRound> alternatives, std::size_t chosen);

// Of many choices. Single regrets keep the noise of their comparisons, which widens both tails alike: what the 5th
// percentile is below 0, noise adds to the 95th. The mean has none of that.
struct CrossValidated {
  std::uint32_t choices = 0;  // with such a regret
  double mean = not_measured, median = not_measured, p5 = not_measured, p95 = not_measured;
  std::uint32_t worse = 0;  // choices whose interval is above 0
};
CrossValidated cross_validated(std::span<const Estimate> regrets);  // NaN among them are left out

// What it costs to measure all alternatives before, in place of advice: every other round says which is best, and the
// rounds between say what that takes over the least of theirs, less 1; and the other way round. A raw regret, so it has
// the luck of the least time as well, here of half the rounds. Empty where no two alternatives have both.
std::vector<double> regrets_of_measuring(std::span<const ByRound> alternatives);

}  // namespace npgpu
