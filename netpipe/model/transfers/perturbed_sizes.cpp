#include "netpipe/model/transfers/perturbed_sizes.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace npgpu {

namespace {

bool is_centre(std::uint64_t n) { return std::has_single_bit(n) || (n % 3 == 0 && std::has_single_bit(n / 3)); }

}  // namespace

bool PerturbedSizes::folds(std::uint64_t bytes) const {
  return std::any_of(behind.begin(), behind.end(), [&](const auto& centre) {
    return std::find(centre.second.begin(), centre.second.end(), bytes) != centre.second.end();
  });
}

PerturbedSizes perturbed_sizes_of(std::span<const std::uint64_t> sizes) {
  std::set<std::uint64_t> centres, others;
  for (const std::uint64_t n : sizes) (is_centre(n) ? centres : others).insert(n);

  std::map<std::uint64_t, int> distances;
  for (const std::uint64_t n : others) {
    std::uint64_t nearest = UINT64_MAX;
    const auto above = centres.lower_bound(n);
    if (above != centres.end()) nearest = *above - n;
    if (above != centres.begin()) nearest = std::min(nearest, n - *std::prev(above));
    if (nearest != UINT64_MAX) ++distances[nearest];
  }
  PerturbedSizes folding;
  int most = 1;
  for (const auto& [distance, times] : distances) {
    if (times <= most) continue;
    most = times;
    folding.perturbation = distance;
  }
  if (folding.perturbation == 0) return folding;
  for (const std::uint64_t c : centres)
    for (const std::uint64_t n : {c - folding.perturbation, c + folding.perturbation})
      if (others.contains(n)) folding.behind[c].push_back(n);
  return folding;
}

}  // namespace npgpu
