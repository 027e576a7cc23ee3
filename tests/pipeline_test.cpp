// Models of chunks in a pipeline, and the simulator in the forms that papers have.
#include <doctest/doctest.h>

#include "exact_forms.hpp"
#include "made_chunks.hpp"
#include "npgpu/model/simulate.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace pipeline_test {

using namespace npgpu;
using namespace npgpu::models;

// Pipelines in the simulator: a job is a pipeline of three stages, to the last digit; parts, several buffers and
// several kernels with times that can be drawn on paper.

namespace {

// Copies take 1 ms a 1000 B, in either direction.
StreamCosts plain_costs() {
  StreamCosts costs;
  costs.copy_h2d = costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-6});
  return costs;
}
PipelineStage in(const char* name, std::uint64_t bytes) { return {.stage = Stage::h2d, .name = name, .bytes = bytes}; }
PipelineStage out(const char* name, std::uint64_t bytes) { return {.stage = Stage::d2h, .name = name, .bytes = bytes}; }
PipelineStage kernel(const char* name, double whole_ms) {
  return {.stage = Stage::kernel, .name = name, .kernel = {.time = Seconds{whole_ms * 1e-3}}};
}
double total(const Pipeline& p, std::uint32_t n, const StreamCosts& costs, Order order = Order::depth_first,
             std::uint32_t streams = 0) {
  return in_ms(simulate_total(p, n, costs, order, streams).total);
}

}  // namespace

TEST_CASE("a job is a pipeline of three stages: the same times to the last digit") {
  Draw draw(1);
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t n = draw.count(40);
    MadeJob m = made(draw.stages(1e-6, 1e-3), n);
    m.costs.issue = draw.stages(1e-7, 1e-5);
    m.costs.gap = draw.stages(1e-7, 1e-5);
    m.costs.latency = draw.stages(1e-7, 1e-5);
    m.costs.submit = Seconds{draw.between(1e-7, 1e-5)};
    m.costs.stream_create = Seconds{draw.between(1e-7, 1e-5)};
    m.costs.duplex_slowdown_h2d = draw.between(1, 2);
    m.costs.duplex_slowdown_d2h = draw.between(1, 2);
    m.costs.copy_engines = static_cast<int>(draw.count(2));
    m.costs.latency_of_waiting_only = i % 2;
    if (i % 3 == 0) m.costs.queues = {draw.count(8), draw.count(8), draw.count(8)};
    m.costs.implicit_sync = static_cast<ImplicitSync>(i % 3);
    m.costs.compute = static_cast<Compute>(i / 3 % 3);
    if (i % 5 == 0) m.job.kernel_of_fraction = Curve({{0, m.job.kernel / 4}, {1, m.job.kernel}});
    if (i % 4 == 0) m.job.blocks = draw.count(2000), m.job.slots = draw.count(500);
    if (i % 7 == 0) m.job.out_bytes = 0;
    if (i % 11 == 0) m.job.in_bytes = 0;
    const std::uint32_t streams = draw.count(n);
    for (const Order order : {Order::breadth_first, Order::depth_first}) {
      CAPTURE(i);
      const StreamRun job = simulate_total(m.job, n, m.costs, order, streams),
                      pipeline = simulate_total(pipeline_of(m.job), n, m.costs, order, streams);
      CHECK(job.total == pipeline.total);
      CHECK(job.busy.copy_in == pipeline.busy.copy_in);
      CHECK(job.busy.copy_out == pipeline.busy.copy_out);
      CHECK(job.busy.compute == pipeline.busy.compute);
      CHECK(job.busy.host == pipeline.busy.host);
    }
  }
}

TEST_CASE("parts by hand: all chunks end before the host works, and then the next part begins") {
  // Two chunks, depth-first: copies in 0..3, 3..6; kernels 3..8, 8..13; copies out 8..10, 13..15. The host 15..22. Then
  // copies in 22..23, 23..24; kernels 23..24, 24..25.
  const Pipeline p{{{in("input", 6000), kernel("first", 10), out("partial", 4000)}, "between", Seconds{7e-3}},
                   {{in("more", 2000), kernel("second", 2)}}};
  CHECK(total(p, 2, plain_costs()) == doctest::Approx(25));
  // Unsplit everything adds up.
  CHECK(total(p, 1, plain_costs()) == doctest::Approx(6 + 10 + 4 + 7 + 2 + 2));
}

TEST_CASE("streams are created once, whatever the number of parts") {
  StreamCosts costs = plain_costs();
  costs.stream_create = Seconds{1e-3};
  const Pipeline p{{{in("input", 1000)}}, {{in("input", 1000)}}};
  CHECK(total(p, 1, costs) == doctest::Approx(1 + 1 + 1));
}

TEST_CASE("several buffers of a chunk: each copy is a call, with a gap of its own, and the kernel waits for the last") {
  StreamCosts costs = plain_costs();
  costs.issue = ms(0.25, 0, 0);
  costs.gap = ms(0.5, 0, 0);
  const Pipeline p{{{in("a", 1000), in("b", 3000), kernel("k", 2)}}};
  // Calls end at 0.25 and 0.5; a 0.25..1.75, b 1.75..5.25, kernel 5.25..7.25.
  CHECK(total(p, 1, costs) == doctest::Approx(7.25));
  // Two chunks of 0.5 and 1.5 ms: copies back to back, 0.25 + (1 + 2) + (1 + 2); the second kernel last.
  CHECK(total(p, 2, costs) == doctest::Approx(0.25 + 6 + 1));
}

TEST_CASE("breadth-first keeps a chunk's copies together, and its kernels behind all copies") {
  StreamCosts costs = plain_costs();
  costs.issue = ms(1, 1, 1);
  // Calls: a0 b0 a1 b1 k0 k1, 1 ms each; the copies take less. The kernel of chunk 0 is called at 5 ms, of 1 at 6.
  const Pipeline p{{{in("a", 2), in("b", 2), kernel("k", 6)}}};
  CHECK(total(p, 2, costs, Order::breadth_first) == doctest::Approx(5 + 3 + 3));
  // Calls: a0 b0 k0 a1 b1 k1: kernels at 3 and 6.
  CHECK(total(p, 2, costs, Order::depth_first) == doctest::Approx(3 + 3 + 3));
}

TEST_CASE("two kernels in a part wait for each other, and share the device with another chunk's") {
  // Half the work each, alone they take all of it: chunk 0 runs 0..1 and 3..6, chunk 1 1..2 and then waits.
  StreamCosts costs = plain_costs();
  costs.compute = Compute::serial;
  const Pipeline p{{{kernel("first", 2), out("x", 4000), kernel("second", 6)}}};
  // Chunk 0: first 0..1, copy 1..3, second 3..6. Chunk 1: first 1..2, copy 3..5, second 6..9.
  CHECK(total(p, 2, costs) == doctest::Approx(9));
  // A kernel that takes 2/3 of the device, 0..1.5: the other chunk's has 1/3 so long, half of its share.
  Pipeline shared{{{kernel("first", 2)}}};
  shared[0].stages[0].kernel.of_fraction = Curve({{0.5, Seconds{1.5e-3}}, {1, Seconds{2e-3}}});
  costs.compute = Compute::shared;
  CHECK(total(shared, 2, costs) == doctest::Approx(2.25));
}

TEST_CASE("the fewest of the fastest numbers of streams is chosen, one stream is always tried") {
  StreamCosts costs = plain_costs();
  costs.gap = ms(0.1, 0.1, 0.1);
  const Pipeline p{{{in("a", 8000), kernel("k", 8), out("x", 8000)}, "host", Seconds{1e-3}}};
  const std::uint32_t candidates[] = {2, 4, 8, 16, 32};
  const Prediction chosen = choose_streams(p, costs, Order::depth_first, candidates);
  REQUIRE(chosen.candidates.size() == 6);
  CHECK(chosen.candidates[0].streams == 1);
  CHECK(in_ms(chosen.candidates[0].run.total) == doctest::Approx(24.3 + 1));
  for (const StreamTime& one : chosen.candidates) {
    // (n - 1) of the longest, and one of each: 8/n and a gap.
    const double chunk = 8.0 / one.streams + 0.1;
    CHECK(in_ms(one.run.total) == doctest::Approx(1 + (one.streams + 2) * chunk));
  }
  CHECK(chosen.streams == 16);  // 1 + 18 * 0.6 = 11.8; 8: 12; 32: 12.9
}

TEST_CASE("what is no pipeline is refused") {
  const StreamCosts costs = plain_costs();
  CHECK_THROWS_AS(simulate_total(Pipeline{{}}, 1, costs, Order::depth_first), Error);
  CHECK_THROWS_AS(simulate_total(Pipeline{{{in("a", 0)}}}, 1, costs, Order::depth_first), Error);
  CHECK_THROWS_AS(simulate_total(Pipeline{{{in("a", 1)}}}, 0, costs, Order::depth_first), Error);
  CHECK_THROWS_AS(simulate_total(Pipeline{{{in("a", 1)}}}, 2, costs, Order::independent), Error);
  CHECK_THROWS_AS(simulate_total(Pipeline{{{in("a", 1)}, "host", Seconds{-1}}}, 1, costs, Order::depth_first), Error);
  Pipeline two{{{kernel("first", 1), kernel("second", 1)}}};
  two[0].stages[0].kernel.blocks = two[0].stages[0].kernel.slots = 4;
  CHECK_THROWS_AS(simulate_total(two, 2, costs, Order::depth_first), Error);
}

// The closed forms of engines against the simulator, which knows none of them: they must be the same to rounding.

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

// The models of Gomez-Luna et al. 2012 and of others with numbers by hand.

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

}  // namespace pipeline_test
