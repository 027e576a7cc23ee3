#include "netpipe/model/transfers/perturbed_sizes.hpp"

#include <doctest/doctest.h>

#include "npgpu/runner.hpp"
#include "npgpu/statistics.hpp"

namespace perturbed_sizes_test {

using namespace npgpu;

TEST_CASE("the neighbours of a default sweep are folded into their centres, and nothing else") {
  const auto sizes = sweep_sizes(1, 8388608, 3);
  const PerturbedSizes folding = perturbed_sizes_of(sizes);
  CHECK(folding.perturbation == 3);
  for (const std::uint64_t n : {13, 19, 21, 27, 8388605, 8388611}) CHECK(folding.folds(n));
  for (const std::uint64_t n : {1, 2, 3, 4, 6, 8, 12, 16, 24, 8388608}) CHECK_FALSE(folding.folds(n));
  CHECK(folding.behind.at(16) == std::vector<std::uint64_t>{13, 19});
}

TEST_CASE("sizes that no perturbation explains stay: an odd start is shown") {
  const PerturbedSizes folding = perturbed_sizes_of(sweep_sizes(1000, 1 << 20, 3));
  CHECK(folding.perturbation == 3);
  CHECK_FALSE(folding.folds(1000));
  CHECK(folding.folds(1021));
}

TEST_CASE("other perturbations are found, a wide one too") {
  // At 16 and 24 the neighbours +-6 of one lie nearer to the other: they are the minority.
  const auto sizes = sweep_sizes(1, 1 << 20, 6);
  const PerturbedSizes folding = perturbed_sizes_of(sizes);
  CHECK(folding.perturbation == 6);
  CHECK(folding.folds(22));
}

TEST_CASE("without neighbours nothing is folded") {
  CHECK(perturbed_sizes_of(sweep_sizes(1, 1 << 20, 0)).perturbation == 0);
  CHECK(perturbed_sizes_of({}).perturbation == 0);
  const std::vector<std::uint64_t> odd{1000, 2000, 3000};
  CHECK(perturbed_sizes_of(odd).perturbation == 0);
  const std::vector<std::uint64_t> one{1000, 1024};  // one distance is no rule
  CHECK(perturbed_sizes_of(one).perturbation == 0);
}

}  // namespace perturbed_sizes_test
