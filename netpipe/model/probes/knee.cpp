#include "netpipe/model/probes/knee.hpp"

#include <algorithm>

#include "netpipe/model/medians.hpp"
#include "netpipe/model/probes/derivation.hpp"

namespace npgpu::model {

namespace {

constexpr double plateau_from = 0.97, rising_by = 1.1;

}  // namespace

std::optional<Knee> knee_of(std::vector<std::pair<double, Estimate>> points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (points.size() < 3 || points.front().first != 1 || points.back().first < 3) return std::nullopt;
  double highest = 0;
  for (const auto& [blocks, rate] : points) highest = std::max(highest, rate.value);
  if (!(highest > 0)) return std::nullopt;

  std::vector<Estimate> slopes, plateau;
  for (const auto& [blocks, rate] : points) {
    if (plateau.empty()) slopes.push_back(quotient({rate}, {exactly(blocks)}, {}, {}));
    if (rate.value >= plateau_from * highest) plateau.push_back(rate);
  }
  Knee knee;
  knee.most = points.back().first;
  const Estimate slope = middle_of(slopes), top = middle_of(plateau);
  knee.reached = plateau.size() > 1 && slope.value * knee.most >= rising_by * top.value;
  if (knee.reached)
    knee.blocks = quotient({top}, {slope}, "blocks", "plateau / slope of the one-thread rate over blocks of a unit");
  return knee;
}

}  // namespace npgpu::model
