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

// The cross-validated regret, with the interval of a median over visits (median_over_visits()). In each round only
// those alternatives count that were visited in it and in another round. NaN, with the reason as the method, where
// fewer than two rounds compare the choice.
Estimate cross_validated_regret(std::span<const ByRound> alternatives, std::size_t chosen);

// The regret of measuring all alternatives in place of advice. The even rounds select the best, and the odd rounds give
// its time over their shortest one, less 1; then the other way round. These are raw regrets, with the bias of the
// shortest time of half the rounds. Empty where fewer than two alternatives were visited in both halves.
std::vector<double> regrets_of_measuring(std::span<const ByRound> alternatives);

}  // namespace npgpu
