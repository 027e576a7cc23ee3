// The models of Gomez-Luna et al. 2012 and of others with numbers by hand.
#include <doctest/doctest.h>

#include "exact_forms.hpp"
#include "made_chunks.hpp"

namespace stream_models_test {

using namespace npgpu;
using namespace npgpu::models;

TEST_CASE("by hand: 6 ms in, 10 ms out, in 4 streams of 0.1 ms") {
  const Seconds t_sc{1e-4};
  CHECK(in_ms(best_practices_kernel(ms(6, 20, 10), 4)) == doctest::Approx(24));
  CHECK(in_ms(best_practices_transfers(ms(6, 8, 10), 4)) == doctest::Approx(18));
  CHECK(in_ms(cc1(ms(6, 8, 10), t_sc, 4)) == doctest::Approx(16.4));    // (1): 16 >= 8 + 4
  CHECK(in_ms(cc1(ms(6, 20, 10), t_sc, 4)) == doctest::Approx(24.4));   // (3): 20 + 4
  CHECK(in_ms(cc2(ms(6, 4, 10), t_sc, 4)) == doctest::Approx(17.4));    // (5): 6 + 1 + 10
  CHECK(in_ms(cc2(ms(6, 20, 10), t_sc, 4)) == doctest::Approx(31.9));   // (7): 1.5 + 20 + 10
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
