#include <doctest/doctest.h>

#include <vector>

#include "npgpu/error.hpp"
#include "npgpu/schedule.hpp"

namespace sizes_test {

using namespace npgpu;
using Sizes = std::vector<std::uint64_t>;

TEST_CASE("NetPIPE's own sweep, by its published sequence") {
  const Sizes sizes = sweep_sizes(1, 10000000, 3);
  CHECK(sizes.size() == 124);
  CHECK(Sizes(sizes.begin(), sizes.begin() + 20) ==
        Sizes{1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35, 45, 48, 51, 61});
  CHECK(sizes.back() == 8388611);
}

TEST_CASE("the paper's range ends at 192 MiB, perturbed like the rest") {
  const Sizes sizes = sweep_sizes(1, 192 * MiB, 3);
  CHECK(sizes[sizes.size() - 2] == 192 * MiB);
  CHECK(sizes.back() == 192 * MiB + 3);
}

TEST_CASE("without perturbation only the centres remain") {
  CHECK(sweep_sizes(1, 32, 0) == Sizes{1, 2, 3, 4, 6, 8, 12, 16, 24, 32});
}

TEST_CASE("one size alone, and a start that is no centre") {
  CHECK(sweep_sizes(1000, 1000, 3) == Sizes{1000});
  CHECK(sweep_sizes(1000, 1536, 0) == Sizes{1000, 1024, 1536});
}

TEST_CASE("a perturbation as large as the step is no perturbation") {
  // Step 8 around 16 and 24: perturbed by 6 (8 > 7), not by 7.
  CHECK(sweep_sizes(16, 24, 6) == Sizes{16, 18, 22, 24, 30});
  CHECK(sweep_sizes(16, 24, 7) == Sizes{16, 24});
}

TEST_CASE("the largest sizes do not overflow") {
  const std::uint64_t top = std::uint64_t{1} << 63;
  CHECK(sweep_sizes(top, UINT64_MAX, 0) == Sizes{top, top + top / 2});
}

TEST_CASE("bad ranges are refused with the option's name") {
  CHECK_THROWS_WITH_AS(sweep_sizes(0, 10, 3), "--start must be at least 1 byte", Error);
  CHECK_THROWS_WITH_AS(sweep_sizes(10, 9, 3), "--end (9) is smaller than --start (10)", Error);
}

}  // namespace sizes_test
