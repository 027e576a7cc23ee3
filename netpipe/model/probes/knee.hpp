// Where a rate that grows with the blocks on a unit stops growing.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "npgpu/model.hpp"

namespace npgpu::model {

struct Knee {
  Estimate blocks;       // NaN where the rate still grew at the end
  bool reached = false;  // the series went on 10 % beyond it, with two rates or more on the plateau
  double most = 0;       // blocks of a unit that the series ends with
};

// Rule: the rate rises by a constant slope up to the knee and stays on a plateau after it. The first number of blocks
// whose rate is at least 97 % of the highest divides the points. Slope: the median of rate over blocks up to there.
// Plateau: the median of the rates from there on that reach 97 % of the highest; those that do not are dips where the
// last warps do not divide among the schedulers. Knee = plateau / slope. Nothing where there are fewer than three
// numbers of blocks, or none that begins at one block.
std::optional<Knee> knee_of(std::vector<std::pair<double, Estimate>> rate_by_blocks);

}  // namespace npgpu::model
