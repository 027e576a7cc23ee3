// The simulator: kernels whose blocks share multiprocessors, and calls and copies in order.
#include "tests/made_spans.hpp"

namespace simulator_blocks_test {

using namespace made_spans;
using namespace npgpu;

// A device of 8 slots, whose blocks take 1 ms as long as there are 4 at most and 3 ms when there are 8: kernels of 4
// blocks are best one after the other, which the device does not know.
TEST_CASE("kernels whose blocks slow each other down") {
  Job job{.kernel = Seconds{6e-3}, .blocks = 8, .slots = 8};
  job.kernel_of_fraction = Curve({{0.5, Seconds{1e-3}}, {1, Seconds{3e-3}}});
  job.block_time = Curve({{1, Seconds{1e-3}}, {4, Seconds{1e-3}}, {8, Seconds{3e-3}}});
  StreamCosts costs;
  costs.compute = Compute::slots;
  const auto total_ms = [&](std::uint32_t n, Order order) {
    return simulate_total(job, n, costs, order).total.count() * 1e3;
  };
  CHECK(total_ms(1, Order::breadth_first) == doctest::Approx(3));
  CHECK(total_ms(2, Order::breadth_first) == doctest::Approx(3));  // both at once, each three times as slow
  // The second starts 0.8 ms later: 0.2 ms of the first and as much of the second take 0.6, then 0.8 alone.
  costs.issue.kernel = Seconds{0.8e-3};
  CHECK(total_ms(2, Order::breadth_first) == doctest::Approx(0.8 + 0.8 + 0.6 + 0.8));
}

// 10 blocks in 8 slots are two waves, split in two as well: the last two blocks wait for a slot.
TEST_CASE("blocks that are more than the slots take a second wave, whosoever they are") {
  Job job{.kernel = Seconds{4e-3}, .blocks = 10, .slots = 8};
  job.block_time = Curve({{1, Seconds{1e-3}}, {4, Seconds{1e-3}}, {8, Seconds{3e-3}}});
  StreamCosts costs;
  costs.compute = Compute::slots;
  const auto total_ms = [&](std::uint32_t n) {
    return simulate_total(job, n, costs, Order::breadth_first).total.count() * 1e3;
  };
  CHECK(total_ms(1) == doctest::Approx(3 + 1));
  CHECK(total_ms(2) == doctest::Approx(3 + 1));
}

// A block of which a half takes 0.4 of the time: 1 block in 2 parts.
TEST_CASE("less than a block may be done sooner") {
  Job job{.kernel = Seconds{1e-3}, .blocks = 1, .slots = 8};
  job.block_time = Curve({{0.5, Seconds{0.4e-3}}, {1, Seconds{1e-3}}, {8, Seconds{1e-3}}});
  StreamCosts costs;
  costs.compute = Compute::slots;
  CHECK(simulate_total(job, 1, costs, Order::breadth_first).total.count() == doctest::Approx(1e-3));
  CHECK(simulate_total(job, 2, costs, Order::breadth_first).total.count() == doctest::Approx(0.4e-3));
}

// 4 multiprocessors with 2 slots each. A block takes 1 ms where no multiprocessor has more than one, and 3 ms where two
// share one.
TEST_CASE("blocks stay on the multiprocessor where they were placed") {
  Job job{.kernel = Seconds{1e-3}, .blocks = 4, .slots = 8};
  job.block_time = Curve({{1, Seconds{1e-3}}, {4, Seconds{1e-3}}, {5, Seconds{3e-3}}, {8, Seconds{3e-3}}});
  job.multiprocessors = 4;
  StreamCosts costs;
  costs.compute = Compute::slots;
  const auto total_ms = [&](std::uint32_t n) {
    return simulate_total(job, n, costs, Order::breadth_first).total.count() * 1e3;
  };
  CHECK(total_ms(1) == doctest::Approx(1));
  CHECK(total_ms(2) == doctest::Approx(1));
  // A block and a third in each chunk are two blocks, so that two multiprocessors get two, though three wholes fit.
  CHECK(total_ms(3) == doctest::Approx(3));
  CHECK(total_ms(4) == doctest::Approx(1));
  // The second kernel comes when the first has 0.2 ms left. Two blocks of each share a multiprocessor for 0.6 ms, after
  // which the second's have 0.8 ms left; the others never wait.
  job.blocks = 5;
  job.last_block = 1;
  job.kernel = Seconds{3e-3};
  costs.issue.kernel = Seconds{0.8e-3};
  CHECK(total_ms(2) == doctest::Approx(0.8 + 0.8 + 0.6 + 0.8));
  // The oldest goes first: the second's have to wait for 0.2 ms, and take 1 ms then.
  job.active_blocks_per_sm = 1;
  CHECK(total_ms(2) == doctest::Approx(0.8 + 1 + 1));
}

// 4 multiprocessors. Two blocks on one take 4 ms and more, the more pairs there are; one alone takes 1 ms, so that the
// pairs go on by themselves.
TEST_CASE("a kernel alone takes what the curve says for its blocks, also while only some multiprocessors are busy") {
  Job job{.kernel = Seconds{1}, .slots = 8};
  job.block_time = Curve({{1, Seconds{1e-3}}, {4, Seconds{1e-3}}, {5, Seconds{4e-3}}, {8, Seconds{7e-3}}});
  job.multiprocessors = 4;
  for (const std::uint64_t blocks : {1u, 4u, 5u, 6u, 7u, 8u}) {
    CAPTURE(blocks);
    job.blocks = blocks;
    CHECK(model::BlockServer::time_alone(job) ==
          doctest::Approx(job.block_time(static_cast<double>(blocks)).count()).epsilon(1e-9));
  }
}

// 5 multiprocessors, and a chunk of 2 blocks each 0.35 ms; times as above. The third finds one that is idle, and shares
// the first with the first chunk. When the fourth comes, the second has just become idle: it gets the fourth's first
// block, and then, as the first in order of those with one, its other as well. Both take 3 ms, though others are nearly
// done.
TEST_CASE("of multiprocessors with as few blocks, the first in order gets the next") {
  Job job{.kernel = Seconds{3e-3}, .blocks = 8, .slots = 10};
  job.block_time = Curve({{1, Seconds{1e-3}}, {5, Seconds{1e-3}}, {6, Seconds{3e-3}}, {10, Seconds{3e-3}}});
  job.multiprocessors = 5;
  StreamCosts costs;
  costs.compute = Compute::slots;
  costs.issue.kernel = Seconds{0.35e-3};
  CHECK(simulate_total(job, 4, costs, Order::breadth_first).total.count() * 1e3 == doctest::Approx(4 * 0.35 + 3));
}

// Blocks of few threads ask for little of what all share: 2 blocks, in 2 and in 8 chunks, are as many threads.
TEST_CASE("parts of blocks slow each other as their threads do") {
  Job job{.kernel = Seconds{2e-3}, .blocks = 2, .slots = 8};
  job.block_time = Curve({{1, Seconds{1e-3}}, {8, Seconds{8e-3}}});
  job.multiprocessors = 8;
  StreamCosts costs;
  costs.compute = Compute::slots;
  for (const std::uint32_t n : {1u, 2u, 8u})
    CHECK(simulate_total(job, n, costs, Order::breadth_first).total.count() == doctest::Approx(2e-3));
}

// A copy in of 1 ms, a kernel of 1 ms, a copy out; 0.5 ms of latency between.
TEST_CASE("what is issued late is spared the latency, where it is of those that wait") {
  MadeJob m = made(ms(1, 1, 1), 1);
  m.costs.latency = ms(0.5, 0.5, 0);
  const auto total_ms = [&] { return simulate_total(m.job, 1, m.costs, Order::breadth_first).total.count() * 1e3; };
  CHECK(total_ms() == doctest::Approx(4));
  m.costs.latency_of_waiting_only = true;
  CHECK(total_ms() == doctest::Approx(4));  // all is issued at once, and waits
  m.costs.issue.kernel = Seconds{2e-3};     // the copy has ended 1 ms before
  CHECK(total_ms() == doctest::Approx(2 + 1 + 0.5 + 1));
  m.costs.issue.d2h = Seconds{2e-3};
  CHECK(total_ms() == doctest::Approx(2 + 2 + 1));
  m.costs.latency = ms(5, 5, 0);
  CHECK(total_ms() == doctest::Approx(2 + 2 + 1));  // nor does the host wait for a latency that nothing was charged
}

TEST_CASE("a copy in that a kernel follows keeps its engine after its end, and its own kernel does not wait for that") {
  MadeJob m = made(ms(3, 0.75, 0.75), 3);
  const auto longer_ms = [&](Order order) {
    StreamCosts with = m.costs;
    with.gap_ahead_of_kernel = Seconds{0.25e-3};
    return (simulate_total(m.job, 3, with, order).total - simulate_total(m.job, 3, m.costs, order).total).count() * 1e3;
  };
  CHECK(longer_ms(Order::breadth_first) ==
        doctest::Approx(0.5));  // after the first two; the third kernel starts at once
  CHECK(longer_ms(Order::depth_first) == doctest::Approx(0.5));
  CHECK(longer_ms(Order::independent) == doctest::Approx(0));  // no kernel follows it
  m.costs.issue.h2d = Seconds{3.5e-3};                         // the engine has been free for longer than that
  CHECK(longer_ms(Order::depth_first) == doctest::Approx(0));
  m.costs.issue.h2d = Seconds{0};
  m.job.kernel = Seconds{0};
  m.job.blocks = 0;
  CHECK(longer_ms(Order::breadth_first) == doctest::Approx(0));
}

// Blocks of four warps, of which each takes 1 ms. Ten warps in three chunks are four warps in one of them.
TEST_CASE("a part of a block has whole warps") {
  Job job{.kernel = Seconds{4e-3}, .blocks = 3, .slots = 8};
  job.block_time = Curve(
      {{0.25, Seconds{1e-3}}, {0.5, Seconds{2e-3}}, {0.75, Seconds{3e-3}}, {1, Seconds{4e-3}}, {8, Seconds{4e-3}}});
  job.last_block = 0.5;
  job.multiprocessors = 8;
  StreamCosts costs;
  costs.compute = Compute::slots;
  const auto total_ms = [&](std::uint32_t n) {
    return simulate_total(job, n, costs, Order::breadth_first).total.count() * 1e3;
  };
  CHECK(total_ms(4) == doctest::Approx(2.5));
  job.warp = 0.25;
  CHECK(total_ms(4) == doctest::Approx(3));
  CHECK(total_ms(5) == doctest::Approx(2));  // two warps each: nothing to round
  CHECK(total_ms(8) == doctest::Approx(2));
}

TEST_CASE("a copy out behind a kernel keeps its engine for longer, another one does not") {
  MadeJob m = made(ms(1, 1, 2), 2);  // the second copy out waits for the first
  const auto longer_ms = [&](Order order) {
    StreamCosts with = m.costs;
    with.gap_behind_kernel = Seconds{0.25e-3};
    return (simulate_total(m.job, 2, with, order).total - simulate_total(m.job, 2, m.costs, order).total).count() * 1e3;
  };
  CHECK(longer_ms(Order::breadth_first) == doctest::Approx(0.5));
  CHECK(longer_ms(Order::independent) == doctest::Approx(0));  // it follows no kernel
  m.job.kernel = Seconds{0};
  m.job.blocks = 0;
  CHECK(longer_ms(Order::breadth_first) == doctest::Approx(0));
}

// Of three streams the first two wait until 10 ms.
TEST_CASE("one stream free: held up where there are more streams than queues") {
  MadeJob m = made(ms(1, 0, 0), 3);
  model::Simulator simulator;
  simulator.hold_others(Seconds{10e-3});
  const auto end_ms = [&] {
    return simulator.run(m.job, 3, m.costs, Order::breadth_first, nullptr).total.count() * 1e3;
  };
  CHECK(end_ms() == doctest::Approx(1));
  m.costs.queues.h2d = 3;
  CHECK(end_ms() == doctest::Approx(1));
  m.costs.queues.h2d = 2;
  CHECK(end_ms() == doctest::Approx(12));  // behind copy 0, and before copy 1, in whose queue it is not
}

// Ten chunks of 1 ms that nothing but the calls holds up: 10 calls, and the last chunk.
TEST_CASE("calls that take more or less time: the job takes the median of its times") {
  MadeJob m = made(ms(1, 0, 0), 10);
  m.costs.issue.h2d = Seconds{3e-3};
  m.costs.stream_create = Seconds{1e-3};
  const auto run = [&] { return simulate(m.job, 10, m.costs, Order::breadth_first); };
  CHECK(in_ms(run().run.total) == doctest::Approx(10 + 30 + 1));
  m.costs.call_factors = {2, 1.1, 0.1};
  CHECK(in_ms(run().run.total) == doctest::Approx(1.1 * 40 + 1));
  CHECK(in_ms(simulate_total(m.job, 10, m.costs, Order::breadth_first).total) == in_ms(run().run.total));
  CHECK(in_ms(run().run.busy.host) == doctest::Approx(1.1 * 40));
  // The list is of that run: its last call ends when the host has made all.
  double last_call_ms = 0;
  for (const TimelineEntry& e : run().entries)
    if (e.server == Server::host) last_call_ms = std::max(last_call_ms, in_ms(e.end));
  CHECK(last_call_ms == doctest::Approx(1.1 * 40));
  // Fast enough calls are hidden behind the copies, and the median may be one of those.
  m.costs.call_factors = {0.01, 0.02, 2};
  m.costs.stream_create = Seconds{0};
  CHECK(in_ms(run().run.total) == doctest::Approx(0.02 * 3 + 10));
  m.costs.call_factors = {1, 3};  // the upper one of an even number
  CHECK(in_ms(run().run.total) == doctest::Approx(90 + 1));
  for (const double wrong : {0.0, -1.0, not_measured}) {
    m.costs.call_factors = {1, wrong};
    CHECK_THROWS_AS(run(), Error);
  }
}

// One copy engine. Depth-first, a chunk in and out, then the next; free to choose, the copies in go ahead.
TEST_CASE("in the order of issue, or whatever can start first") {
  MadeJob m = made(ms(2, 3, 2), 2);
  m.costs.copy_engines = 1;
  m.costs.queues.h2d = 1;
  CHECK(total(m, 2, Order::depth_first) == doctest::Approx(14));
  m.costs.queues.h2d = 0;
  CHECK(total(m, 2, Order::depth_first) == doctest::Approx(2 + 3 + 3 + 2));
}

TEST_CASE("implicit synchronization: copies out wait for kernels issued before them") {
  MadeJob m = made(ms(1, 4, 1), 3);
  m.costs.implicit_sync = ImplicitSync::start;
  check(span_of(simulate(m.job, 3, m.costs, Order::breadth_first), Stage::d2h, 0), 9, 10);
  m.costs.implicit_sync = ImplicitSync::end;
  check(span_of(simulate(m.job, 3, m.costs, Order::breadth_first), Stage::d2h, 0), 13, 14);
  // Depth-first only its own kernel was issued before.
  check(span_of(simulate(m.job, 3, m.costs, Order::depth_first), Stage::d2h, 0), 5, 6);
}

TEST_CASE("a kernel that leaves half of the device to the next: shared, not serial") {
  // Alone a quarter of the job takes 4 ms, though a quarter of the whole's 8 is 2: it takes half of the device.
  MadeJob m = only_kernels(8, 0, 0);
  m.job.kernel_of_fraction = Curve({{0.25, Seconds{0.004}}, {1, Seconds{0.008}}});
  m.costs.compute = Compute::shared;
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 0, 4);
  check(span_of(t, Stage::kernel, 1), 0, 4);
  check(span_of(t, Stage::kernel, 3), 4, 8);
  CHECK(in_ms(t.run.busy.compute) == doctest::Approx(8));
  m.costs.compute = Compute::serial;
  CHECK(total(m, 4) == doctest::Approx(16));
}

TEST_CASE("shared: the next kernel starts a gap after the last, though there is room") {
  MadeJob m = only_kernels(8, 0, 0);
  m.job.kernel_of_fraction = Curve({{0.25, Seconds{0.004}}, {1, Seconds{0.008}}});
  m.costs.gap = ms(0, 1, 0);
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 0, 5);
  check(span_of(t, Stage::kernel, 1), 1, 6);
  check(span_of(t, Stage::kernel, 2), 5, 10);
}

TEST_CASE("shared: who comes later gets what is left, and more when it comes free") {
  // A third of a 9 ms job takes 4 ms alone: 3/4 of the device. The second starts with the quarter that is left, a third
  // of its speed.
  MadeJob m = only_kernels(9, 0, 0);
  m.job.kernel_of_fraction = Curve({{1.0 / 3, Seconds{0.004}}, {1, Seconds{0.009}}});
  const Timeline t = simulate(m.job, 3, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 0, 4);
  check(span_of(t, Stage::kernel, 1), 0, 4 + 4 - 4 / 3.0);
  // A quarter of the device until 6 2/3 is 2/3 of its 3 ms of all of it; the rest goes at 3/4.
  check(span_of(t, Stage::kernel, 2), 4, 20 / 3.0 + (3 - 2 / 3.0) / 0.75);
}

TEST_CASE("slots: blocks of the next kernel fill what the last wave leaves") {
  // 12 blocks in 4 slots are three waves of 1 ms; four chunks of 3 blocks one each, four waves if they are serial.
  MadeJob m = only_kernels(3, 12, 4);
  m.costs.compute = Compute::slots;
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 0, 1);
  check(span_of(t, Stage::kernel, 1), 0, 2);  // one block beside the first chunk, two after it
  check(span_of(t, Stage::kernel, 2), 1, 2 + 1);
  CHECK(in_ms(t.run.total) == doctest::Approx(3));
  m.costs.compute = Compute::serial;
  CHECK(total(m, 4) == doctest::Approx(4));
  CHECK(total(m, 4) == doctest::Approx(3 * models::tail_inflation(12, 4, 4)));
  // 9 blocks in 2 chunks: 5 in one of them, which are two waves of the three.
  const MadeJob odd = only_kernels(3, 9, 4);
  CHECK(in_ms(chunk_times(odd.job, 2, odd.costs).kernel) == doctest::Approx(2));
  // 10 blocks in 4 chunks: 3, 3, 2, 2. All go in by three waves, as the whole does.
  MadeJob uneven = only_kernels(3, 10, 4);
  uneven.costs.compute = Compute::slots;
  CHECK(total(uneven, 4) == doctest::Approx(3));
}

TEST_CASE("slots: of more chunks than blocks, each has a part of a block, which takes as long as a block") {
  MadeJob m = made(ms(1, 2, 1), 4);  // the whole kernel: 8 ms
  m.costs.compute = Compute::slots;
  m.job.slots = 4;
  m.job.blocks = 1;
  CHECK(total(m, 4) == doctest::Approx(4 + 8 + 1));
  m.job.blocks = 3;
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 1, 1 + 8);
  check(span_of(t, Stage::kernel, 3), 4, 4 + 8);  // its copy is the last, and its kernel no shorter
}

TEST_CASE("slots: a kernel that waits for slots loses no gap to it") {
  // Four chunks of a wave each, gaps of 0.5 ms: only the first one's is seen; with slots to spare, each follows a gap.
  MadeJob m = only_kernels(4, 16, 4);
  m.costs.compute = Compute::slots;
  m.costs.gap.kernel = Seconds{0.5e-3};
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 0, 1.5);
  check(span_of(t, Stage::kernel, 1), 1, 2.5);
  check(span_of(t, Stage::kernel, 3), 3, 4.5);
  MadeJob few = only_kernels(1, 4, 4);
  few.costs = m.costs;
  const Timeline u = simulate(few.job, 4, few.costs, Order::breadth_first);
  check(span_of(u, Stage::kernel, 1), 0.5, 2);
  check(span_of(u, Stage::kernel, 3), 1.5, 3);
  few.costs.compute = Compute::serial;
  CHECK(total(few, 4) == doctest::Approx(6));
}

TEST_CASE("kernels that fill the device are served alike, whatever the rule, but for gaps") {
  Draw draw(7);
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t n = draw.count(16);
    MadeJob m = made(draw.stages(1e-6, 1e-3), n);
    m.costs.gap = draw.stages(1e-7, 1e-5);
    m.costs.gap.kernel = Seconds{0};
    m.job.slots = 8;
    m.job.blocks = std::uint64_t{8} * n * draw.count(4);
    m.costs.compute = Compute::serial;
    const double serial = total(m, n);
    for (const Compute other : {Compute::shared, Compute::slots}) {
      m.costs.compute = other;
      REQUIRE(std::abs(total(m, n) / serial - 1) < 1e-12);
    }
  }
}

}  // namespace simulator_blocks_test
