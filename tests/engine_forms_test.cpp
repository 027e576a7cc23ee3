// The closed forms of engines against the simulator, which knows none of them: they must be the same to rounding.
#include <doctest/doctest.h>

#include "exact_forms.hpp"
#include "made_chunks.hpp"

namespace engine_forms_test {

using namespace npgpu;
using namespace npgpu::models;

namespace {

constexpr int cases = 4000;

double apart(Seconds simulated, Seconds form) { return std::abs(simulated / form - 1); }

}  // namespace

TEST_CASE("by hand: two chunks of 3, 5 and 2 ms") {
  const Stages c = ms(3, 5, 2);
  CHECK(in_ms(two_engines(c, {}, 2)) == doctest::Approx(15));           // 3 + 5 + 2, and 5 more
  CHECK(in_ms(one_engine_breadth_first(c, 2)) == doctest::Approx(15));  // 3 + 2*5 + 2
  CHECK(in_ms(one_engine_depth_first(c, 2)) == doctest::Approx(20));
  CHECK(in_ms(one_engine_implicit_sync(c, 2, ImplicitSync::end)) == doctest::Approx(17));    // 3 + 2*5 + 2*2
  CHECK(in_ms(one_engine_implicit_sync(c, 2, ImplicitSync::start)) == doctest::Approx(15));  // 8, then 5 + 2
  // The host takes 4 ms a call: breadth-first the last copy out is issued at 24 ms.
  CHECK(in_ms(two_engines_breadth_first(c, {}, ms(4, 4, 4), 2)) == doctest::Approx(26));
  // Depth-first the second kernel is issued at 20 ms: then 5 and 2.
  CHECK(in_ms(two_engines_depth_first(c, {}, ms(4, 4, 4), 2)) == doctest::Approx(27));
  CHECK(in_ms(two_engines_depth_first(c, ms(1, 1, 1), ms(1, 1, 1), 2)) ==
        doctest::Approx(1 + 3 + 1 + 5 + 1 + 2 + 1 + 5));
}

TEST_CASE("one copy engine") {
  Draw draw(1);
  for (int i = 0; i < cases; ++i) {
    const std::uint32_t n = draw.count(64);
    const Stages c = draw.stages(1e-6, 1e-3);
    MadeJob m = made(c, n);
    m.costs.copy_engines = 1;
    REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::breadth_first).total, one_engine_breadth_first(c, n)) <
            1e-12);
    for (const ImplicitSync sync : {ImplicitSync::start, ImplicitSync::end}) {
      m.costs.implicit_sync = sync;
      REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::breadth_first).total,
                    one_engine_implicit_sync(c, n, sync)) < 1e-12);
    }
    m.costs.implicit_sync = ImplicitSync::none;
    m.costs.queues.h2d = 1;  // copies in the order of issue
    REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::depth_first).total, one_engine_depth_first(c, n)) < 1e-12);
  }
}

TEST_CASE("two copy engines, with latencies, host costs and gaps") {
  Draw draw(2);
  for (int i = 0; i < cases; ++i) {
    const std::uint32_t n = draw.count(64);
    const Stages c = draw.stages(1e-6, 1e-3), latency = draw.stages(1e-7, 1e-4), issue = draw.stages(1e-7, 1e-3);
    MadeJob m = made(c, n);
    m.costs.latency = latency;
    REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::breadth_first).total, two_engines(c, latency, n)) < 1e-12);
    REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::depth_first).total, two_engines(c, latency, n)) < 1e-12);
    m.costs.issue = issue;
    m.costs.gap = draw.stages(1e-7, 1e-4);
    const Stages s = chunk_times(m.job, n, m.costs);
    REQUIRE(s.h2d > c.h2d);
    REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::breadth_first).total,
                  two_engines_breadth_first(s, latency, issue, n)) < 1e-12);
    REQUIRE(apart(simulate_total(m.job, n, m.costs, Order::depth_first).total,
                  two_engines_depth_first(s, latency, issue, n)) < 1e-12);
  }
}

TEST_CASE("creating streams is counted once for each, before all else") {
  MadeJob m = made(ms(3, 5, 2), 4);
  m.costs.stream_create = Seconds{1e-4};
  CHECK(in_ms(simulate_total(m.job, 4, m.costs, Order::breadth_first).total) == doctest::Approx(0.4 + 3 + 4 * 5 + 2));
}

TEST_CASE("van Werkhoven's model is the one of two engines without costs; the dominant stage's is the same") {
  Draw draw(3);
  for (int i = 0; i < cases; ++i) {
    const std::uint32_t n = draw.count(64);
    const Stages whole = draw.stages(1e-4, 1e-1);
    const Seconds exact = two_engines(chunk_of(whole, n), {}, n);
    REQUIRE(apart(van_werkhoven(whole, n), exact) < 1e-12);
    REQUIRE(apart(dominant_stage(whole, Seconds{0}, n), exact) < 1e-12);
  }
}

TEST_CASE("both directions at once: the formula of two copies") {
  Draw draw(4);
  for (int i = 0; i < cases; ++i) {
    const Copy to{Seconds{draw.between(1e-7, 1e-4)}, Seconds{draw.between(1e-6, 1e-3)}, draw.between(1, 2)};
    const Copy from{Seconds{draw.between(1e-7, 1e-4)}, Seconds{draw.between(1e-6, 1e-3)}, draw.between(1, 2)};
    // Two chunks without kernels: when the first has come in, it goes out while the second comes in.
    MadeJob m = made({to.transfer, Seconds{0}, from.transfer}, 2);
    m.costs.gap = {to.fixed, Seconds{0}, from.fixed};
    m.costs.duplex_slowdown_h2d = to.slow;
    m.costs.duplex_slowdown_d2h = from.slow;
    const Timeline t = simulate(m.job, 2, m.costs, Order::breadth_first);
    Seconds begin{0}, end{0};
    for (const TimelineEntry& e : t.entries) {
      if (e.server == Server::copy_in && e.chunk == 1) {
        begin = e.start;
        end = std::max(end, e.end);
      }
      if (e.server == Server::copy_out && e.chunk == 0) {
        REQUIRE(e.start == begin);
        end = std::max(end, e.end);
      }
    }
    REQUIRE(apart(end - begin, both_directions(to, from)) < 1e-11);
  }
  // 10 ms in and 20 ms out, each twice as slow beside the other: the copy in ends at 20, when 10 of 20 have gone out.
  CHECK(in_ms(both_directions({{}, Seconds{0.01}, 2}, {{}, Seconds{0.02}, 2})) == doctest::Approx(30));
}

}  // namespace engine_forms_test
