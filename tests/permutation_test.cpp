#include "probes/walks.hpp"

#include <doctest/doctest.h>

#include <set>

namespace permutation_test {

using npgpu::Permutation;

TEST_CASE("every place is taken once, whatever the count") {
  for (const std::uint64_t count : {1, 2, 3, 16, 17, 1000, 65536, 65537}) {
    CAPTURE(count);
    const Permutation order(count);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < count; ++i) seen.insert(order.at(i));
    CHECK(seen.size() == count);
    CHECK(*seen.rbegin() == count - 1);
  }
}

TEST_CASE("neighbours in the order are no neighbours in memory, and steps do not repeat") {
  const std::uint64_t count = 4096;
  const Permutation order(count);
  unsigned near = 0;
  std::set<std::uint64_t> steps;
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t step = (order.at(i + 1) + count - order.at(i)) % count;
    near += step <= 4 || step >= count - 4;
    steps.insert(step);
  }
  CHECK(near < 30);            // 8 of 4096 by chance; all of them if it were not shuffled
  CHECK(steps.size() > 2000);  // 1 - 1/e of 4096 by chance, 2589
}

}  // namespace permutation_test
