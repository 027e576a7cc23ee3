// The models of Gomez-Luna et al. 2012 and of others with numbers by hand, and what is wrong with equation (2).
#include <doctest/doctest.h>

#include <algorithm>

#include "exact_forms.hpp"
#include "made_chunks.hpp"

namespace stream_models_test {

using namespace npgpu;
using namespace npgpu::models;

namespace {

// The best whole number of streams next to an optimum.
double best_near(double optimum, const Stages& whole, Seconds t_sc) {
  const double low = std::max(1.0, std::floor(optimum)), high = std::max(1.0, std::ceil(optimum));
  return std::min(cc1(whole, t_sc, low).count(), cc1(whole, t_sc, high).count());
}
double best_of_all(const Stages& whole, Seconds t_sc, double most) {
  double best = cc1(whole, t_sc, 1).count();
  for (double n = 2; n <= most; ++n) best = std::min(best, cc1(whole, t_sc, n).count());
  return best;
}

}  // namespace

TEST_CASE("by hand: 6 ms in, 10 ms out, in 4 streams of 0.1 ms") {
  const Seconds t_sc{1e-4};
  CHECK(in_ms(best_practices_kernel(ms(6, 20, 10), 4)) == doctest::Approx(24));
  CHECK(in_ms(best_practices_transfers(ms(6, 8, 10), 4)) == doctest::Approx(18));
  CHECK(in_ms(cc1(ms(6, 8, 10), t_sc, 4)) == doctest::Approx(16.4));   // (1): 16 >= 8 + 4
  CHECK(in_ms(cc1(ms(6, 20, 10), t_sc, 4)) == doctest::Approx(24.4));  // (3): 20 + 4
  CHECK(cc1_optimum_as_printed(ms(6, 8, 10), t_sc) == doctest::Approx(2));
  CHECK(cc1_optimum_as_printed(ms(6, 20, 10), t_sc) == doctest::Approx(std::sqrt(160.0)));
  CHECK(in_ms(cc2(ms(6, 4, 10), t_sc, 4)) == doctest::Approx(17.4));   // (5): 6 + 1 + 10
  CHECK(in_ms(cc2(ms(6, 20, 10), t_sc, 4)) == doctest::Approx(31.9));  // (7): 1.5 + 20 + 10
  CHECK(cc2_optimum(ms(6, 4, 10), t_sc) == doctest::Approx(std::sqrt(40.0)));
  CHECK(cc2_optimum(ms(6, 20, 10), t_sc) == doctest::Approx(std::sqrt(60.0)));
  CHECK(in_ms(van_werkhoven(ms(6, 4, 10), 2)) == doctest::Approx(15));  // 10 + (6 + 4)/2
}

TEST_CASE("c.c. 2.x: with the end of the last kernel, (5) and (7) are the simulator's times") {
  Draw draw(5);
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t n = draw.count(64);
    const Stages whole = draw.stages(1e-4, 1e-1);
    REQUIRE(std::abs(cc2(whole, Seconds{0}, n) / one_engine_implicit_sync(chunk_of(whole, n), n, ImplicitSync::end) -
                     1) < 1e-12);
  }
}

// 19.99 ms of kernel beside 20 ms of transfers: (2) wants 2000 streams, which cost 200 ms.
TEST_CASE("(2) diverges where the kernel takes as long as the transfers, the corrected optimum does not") {
  const Stages whole = ms(10, 19.99, 10);
  const Seconds t_sc{1e-4};
  CHECK(cc1_optimum_as_printed(whole, t_sc) == doctest::Approx(2000));
  CHECK(cc1_optimum(whole, t_sc) == doctest::Approx(std::sqrt(200.0)));
  CHECK(in_ms(cc1(whole, t_sc, 2000)) == doctest::Approx(220));
  CHECK(in_ms(cc1(whole, t_sc, 14)) == doctest::Approx(19.99 + 20.0 / 14 + 1.4));
  // Where streams are cheap, (2) is right.
  CHECK(cc1_optimum(ms(10, 10, 10), t_sc) == doctest::Approx(2));
}

TEST_CASE("2000 random cases: no regret with the corrected optimum, much with (2)") {
  Draw draw(6);
  double worst_printed = 1;
  for (int i = 0; i < 2000; ++i) {
    const double transfers = draw.between(1, 100);
    const Stages whole = ms(transfers * 0.4, transfers * draw.between(0.1, 10), transfers * 0.6);
    const Seconds t_sc{draw.between(1e-5, 3e-4)};
    const double best = best_of_all(whole, t_sc, 4 * std::sqrt(transfers * 1e-3 / t_sc.count()) + 2);
    REQUIRE(best_near(cc1_optimum(whole, t_sc), whole, t_sc) <= best * (1 + 1e-12));
    worst_printed = std::max(worst_printed, best_near(cc1_optimum_as_printed(whole, t_sc), whole, t_sc) / best);
  }
  CHECK(worst_printed > 10);
}

TEST_CASE("the dominant stage's optimum: nothing near it is better") {
  // 10 ms of kernel, 8 ms of the rest, 20 us a chunk: sqrt(8/0.02) = 20 streams, 10 + 0.4 + 19*0.02 ms.
  const Stages whole = ms(5, 10, 3);
  const Seconds g{2e-5};
  CHECK(dominant_stage_optimum(whole, g) == doctest::Approx(20));
  CHECK(in_ms(dominant_stage(whole, g, 20)) == doctest::Approx(10.78));
  for (const double n : {18.0, 19.0, 21.0, 22.0}) CHECK(dominant_stage(whole, g, n) > dominant_stage(whole, g, 20));
  CHECK(dominant_stage_optimum(whole, Seconds{1}) == 1);
}

// 7680 blocks on an H200 that holds 4 of them on each of its 132 SMs.
TEST_CASE("the last wave of a kernel") {
  CHECK(tail_inflation(7680, 528, 2) == doctest::Approx(1.1));  // 2 * 8 waves of 528 for 7680 blocks
  CHECK(tail_inflation(7680, 528, 16) == doctest::Approx(1.1));
  CHECK(tail_inflation(7680, 528, 32) == doctest::Approx(2.2));
  CHECK(tail_inflation(7680, 528, 64) == doctest::Approx(4.4));
}

}  // namespace stream_models_test
