// The levels of a memory, found in how long a load takes over growing sets. No size is given or looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "npgpu/model/result.hpp"

namespace npgpu::model {

// A point of a chase: every load waited for the one before.
struct LoadTime {
  std::uint64_t bytes = 0;  // of the set
  Estimate ns;              // a load
  Estimate cycles;          // NaN where none were recorded
};

struct Level {
  Estimate bytes;   // the set that it still holds; NaN for the last, which has no end here
  Estimate ns;      // a load that it answers
  Estimate cycles;  // NaN where fewer than three of its points have them
  std::uint64_t first_bytes = 0, last_bytes = 0;  // sets of its plateau
  double rise_octaves = not_measured;             // from a quarter to three quarters of the way up to the next level
};

// In growing order; the last is where the series ends. Rules, all in logarithms of set and latency:
//   curve     the points' medians, each the median of itself and its neighbours (one odd point is no level), then made
//             to never fall (pool adjacent violators): a larger set is not answered faster. Cycles where every point
//             has them, which no changing clock disturbs; nanoseconds otherwise.
//   plateau   the longest run of three points or more, half an octave or more, that rises by no more than 25 %, nor
//             more than 25 % an octave; then the longest of what is left, and so on.
//   level     a plateau that begins 30 % above the end of the one before, or more. Plateaus that are nearer are one
//             level: a slow rise, or parts of a cache at different distances.
//   latency   the median of the plateau's points.
//   size      where the curve is half way from this level's latency to the next one's: the next level answers half of
//             the loads. A cache that forgets in strict order and is filled evenly has all of its rise at its size.
//             Filled by pages of random colour its rise is slow, and goes through half at its size: of a set as large
//             as the cache, the pages that find more of their colour than it has ways are 55 % for 8 ways (Poisson).
//             One that replaces at random answers half of a set that is 1.4 times its size. The interval reaches to
//             the nearest points measured on either side, the bounds of the points included.
//   parts     with `apart` plateaus are levels of their own, too, where one's latency is so many times that of the one
//             before: parts of a cache at different distances. Such a level begins where the curve is nearer to its
//             latency than to that of the one before.
std::vector<Level> levels_of(std::vector<LoadTime>, std::optional<double> apart = {});

}  // namespace npgpu::model
