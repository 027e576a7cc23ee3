// Pipelines in the simulator: a job is a pipeline of three stages, to the last digit; parts, several buffers and
// several kernels with times that can be drawn on paper.
#include "npgpu/pipeline.hpp"

#include <doctest/doctest.h>

#include "made_chunks.hpp"
#include "npgpu/error.hpp"

namespace pipeline_test {

using namespace npgpu;

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

}  // namespace pipeline_test
