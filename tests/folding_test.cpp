#include "netpipe/report/folding.hpp"

#include <doctest/doctest.h>

#include "npgpu/engine.hpp"

using namespace npgpu;

TEST_CASE("the neighbours of a default sweep are folded into their centres, and nothing else") {
  const auto sizes = sweep_sizes(1, 8388608, 3);
  const Folding folding = folding_of(sizes);
  CHECK(folding.perturbation == 3);
  for (const std::uint64_t n : {13, 19, 21, 27, 8388605, 8388611}) CHECK(folding.folds(n));
  for (const std::uint64_t n : {1, 2, 3, 4, 6, 8, 12, 16, 24, 8388608}) CHECK_FALSE(folding.folds(n));
  CHECK(folding.behind.at(16) == std::vector<std::uint64_t>{13, 19});
}

TEST_CASE("sizes that no perturbation explains stay: an odd start is shown") {
  const Folding folding = folding_of(sweep_sizes(1000, 1 << 20, 3));
  CHECK(folding.perturbation == 3);
  CHECK_FALSE(folding.folds(1000));
  CHECK(folding.folds(1021));
}

TEST_CASE("other perturbations are found, a wide one too") {
  // At 16 and 24 the neighbours +-6 of one lie nearer to the other: they are the minority.
  const auto sizes = sweep_sizes(1, 1 << 20, 6);
  const Folding folding = folding_of(sizes);
  CHECK(folding.perturbation == 6);
  CHECK(folding.folds(22));
}

TEST_CASE("without neighbours nothing is folded") {
  CHECK(folding_of(sweep_sizes(1, 1 << 20, 0)).perturbation == 0);
  CHECK(folding_of({}).perturbation == 0);
  const std::vector<std::uint64_t> odd{1000, 2000, 3000};
  CHECK(folding_of(odd).perturbation == 0);
  const std::vector<std::uint64_t> one{1000, 1024};  // one distance is no rule
  CHECK(folding_of(one).perturbation == 0);
}
