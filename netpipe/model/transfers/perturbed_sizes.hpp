// Which sizes of a sweep are the perturbed neighbours c-p and c+p of a centre c.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace npgpu {

struct PerturbedSizes {
  std::uint64_t perturbation = 0;                              // 0: nothing to fold
  std::map<std::uint64_t, std::vector<std::uint64_t>> behind;  // sizes folded into each centre
  bool folds(std::uint64_t bytes) const;                       // true for a neighbour
};

// A trace does not hold the perturbation: it is the commonest distance of sizes that are no centre (2^k, 1.5*2^k) to
// the next one that was measured, and at least two sizes must have it.
PerturbedSizes perturbed_sizes_of(std::span<const std::uint64_t> sizes);

}  // namespace npgpu
