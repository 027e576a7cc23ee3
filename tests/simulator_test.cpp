// The simulator with times that can be drawn on paper. pipeline_test.cpp compares it with the closed forms.
#include "tests/made_spans.hpp"

namespace simulator_test {

using namespace made_spans;
using namespace npgpu;

TEST_CASE("a timeline by hand: host 1 ms a call, latencies of 1 ms, two chunks of 3, 5 and 2 ms") {
  MadeJob m = made(ms(3, 5, 2), 2);
  m.costs.issue = m.costs.latency = ms(1, 1, 1);
  const Timeline t = simulate(m.job, 2, m.costs, Order::breadth_first);
  check(span_of(t, Stage::d2h, 1, true), 5, 6);  // the sixth call
  check(span_of(t, Stage::h2d, 0), 1, 4);
  check(span_of(t, Stage::kernel, 0), 5, 10);
  check(span_of(t, Stage::d2h, 0), 11, 13);
  check(span_of(t, Stage::h2d, 1), 4, 7);
  check(span_of(t, Stage::kernel, 1), 10, 15);
  check(span_of(t, Stage::d2h, 1), 16, 18);
  CHECK(in_ms(t.run.total) == doctest::Approx(19));
  CHECK(in_ms(t.run.busy.host) == doctest::Approx(6));
  CHECK(in_ms(t.run.busy.copy_in) == doctest::Approx(6));
  CHECK(in_ms(t.run.busy.compute) == doctest::Approx(10));
  CHECK(in_ms(t.run.busy.copy_out) == doctest::Approx(4));
  CHECK(t.entries.size() == 12);
  CHECK(std::is_sorted(t.entries.begin(), t.entries.end(),
                       [](const auto& a, const auto& b) { return a.server < b.server; }));
  CHECK(simulate_total(m.job, 2, m.costs, Order::breadth_first).total == t.run.total);
}

TEST_CASE("stages that a job does not have are not issued") {
  MadeJob m = made(ms(3, 5, 2), 2);
  m.costs.issue = ms(1, 1, 1);
  m.job.out_bytes = 0;
  CHECK(total(m, 2) == doctest::Approx(1 + 3 + 5 + 5));
  m.job.kernel = Seconds{0};
  CHECK(total(m, 2) == doctest::Approx(1 + 3 + 3));
  m.job.in_bytes = 0;
  CHECK(total(m, 2) == 0);
}

TEST_CASE("gaps: each operation holds its engine for one more") {
  MadeJob m = made(ms(3, 1, 1), 4);
  m.costs.gap = ms(0.5, 0.25, 0.125);
  CHECK(total(m, 4) == doctest::Approx(4 * 3.5 + 1.25 + 1.125));
  const Stages s = chunk_times(m.job, 4, m.costs);
  CHECK(in_ms(s.sum()) == doctest::Approx(3.5 + 1.25 + 1.125));
}

TEST_CASE("both directions: half as fast while the other engine is at work") {
  MadeJob m = made(ms(4, 0, 2), 2);
  m.costs.duplex_slowdown_h2d = m.costs.duplex_slowdown_d2h = 2;
  const Timeline t = simulate(m.job, 2, m.costs, Order::breadth_first);
  check(span_of(t, Stage::h2d, 0), 0, 4);   // alone
  check(span_of(t, Stage::d2h, 0), 4, 8);   // 2 ms of bytes, beside
  check(span_of(t, Stage::h2d, 1), 4, 10);  // 2 ms of bytes in 4, then 2 alone
  check(span_of(t, Stage::d2h, 1), 10, 12);
}

// Chunks of 1, 1 and 1 ms.
TEST_CASE("hardware queues of copies: an engine takes what is there of one, then turns to the next") {
  MadeJob m = made(ms(1, 1, 1), 4);
  m.costs.queues = {.h2d = 2};
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::h2d, 0), 0, 1);
  check(span_of(t, Stage::h2d, 2), 1, 2);
  check(span_of(t, Stage::h2d, 1), 2, 3);
  check(span_of(t, Stage::h2d, 3), 3, 4);
  check(span_of(t, Stage::d2h, 3), 5, 6);
  m.costs.queues = {.h2d = 4};
  check(span_of(simulate(m.job, 4, m.costs, Order::breadth_first), Stage::h2d, 1), 1, 2);
}

TEST_CASE("hardware queues of kernels: one whose copy is late holds up those behind it") {
  MadeJob m = made(ms(1, 1, 1), 4);
  m.costs.queues = {.h2d = 2, .kernel = 1};
  const Timeline t = simulate(m.job, 4, m.costs, Order::breadth_first);
  check(span_of(t, Stage::kernel, 0), 1, 2);
  check(span_of(t, Stage::kernel, 1), 3, 4);  // its copy was the third
  check(span_of(t, Stage::kernel, 2), 4, 5);  // its copy was the second
  CHECK(total(m, 4) == doctest::Approx(7));
  // Two and two: kernels are in the order of the copies again.
  m.costs.queues.kernel = 2;
  CHECK(total(m, 4) == doctest::Approx(6));
}

// Copies in come in the order 0 3 1 4 2 5. Runner<Probes> 5 is launched at 4.5 ms, when in queue 2, which was used the
// longest ago, kernel 2 waits for its copy until 5; in queue 0, of kernels 0 and 3, nothing waits since 3.6.
TEST_CASE("a kernel gets a queue in which nothing waits, if there is one") {
  MadeJob m = made(ms(1, 0.1, 1), 6);
  m.costs.issue.kernel = Seconds{0.9e-3};
  m.costs.queues = {.h2d = 3, .kernel = 3};
  std::vector<std::uint32_t> queues(6);
  for (const TimelineEntry& e : simulate(m.job, 6, m.costs, Order::breadth_first).entries)
    if (e.server == Server::compute) queues[e.chunk] = e.queue;
  CHECK(queues == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 0});
  // The host learns of it late: none is known to be idle, and they go around.
  m.costs.submit = Seconds{0.9e-3};
  queues.clear();
  queues.resize(6);
  for (const TimelineEntry& e : simulate(m.job, 6, m.costs, Order::breadth_first).entries)
    if (e.server == Server::compute) queues[e.chunk] = e.queue;
  CHECK(queues == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("the best number of streams, and what holds the time up") {
  // 16 ms in, 4 ms of kernel, 4 ms out, 0.1 ms a copy in: 16 + 8/n + 0.1 n is least at n = 9 (17.789 ms).
  Job job{.in_bytes = 16000, .out_bytes = 4000, .kernel = Seconds{0.004}};
  StreamCosts costs;
  costs.copy_h2d = costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-6});
  costs.gap = ms(0.1, 0, 0);
  const auto counts = stream_counts(32);
  Prediction p = choose_streams(job, costs, Order::breadth_first, counts);
  CHECK(p.streams == 9);
  CHECK(in_ms(p.time) == doctest::Approx(16 + 8.0 / 9 + 0.9));
  CHECK(p.speed_up == doctest::Approx(24.1 / (16 + 8.0 / 9 + 0.9)));
  CHECK(p.bound == Bound::h2d_engine);
  CHECK(in_ms(p.bound_time) == doctest::Approx(16.9));
  CHECK(p.candidates.size() == 32);
  CHECK(p.candidates[31].streams == 32);

  costs.copy_engines = 1;
  CHECK(choose_streams(job, costs, Order::breadth_first, counts).bound == Bound::copy_engine);
  costs.copy_engines = 2;
  job.kernel = Seconds{0.04};
  CHECK(choose_streams(job, costs, Order::breadth_first, counts).bound == Bound::compute);
  job.kernel = Seconds{0.004};
  costs.issue = ms(0, 50, 0);
  p = choose_streams(job, costs, Order::breadth_first, counts);
  CHECK(p.bound == Bound::host_issue);
  CHECK(p.streams == 1);
  CHECK(p.speed_up == 1);
  job.in_bytes = 0;
  job.out_bytes = 400000;
  costs.issue = {};
  CHECK(choose_streams(job, costs, Order::breadth_first, counts).bound == Bound::d2h_engine);
}

TEST_CASE("one stream is judged although nobody asked, and of equals the fewest streams win") {
  Job job{.in_bytes = 1000, .kernel = Seconds{0}};
  StreamCosts costs;
  costs.copy_h2d = Curve::line(Seconds{0}, Seconds{1e-6});
  const std::uint32_t counts[] = {8, 4};
  const std::uint32_t downwards[] = {8, 4, 1};
  const Prediction p = choose_streams(job, costs, Order::breadth_first, counts);
  CHECK(p.streams == 1);
  CHECK(p.candidates.size() == 3);
  CHECK(choose_streams(job, costs, Order::breadth_first, downwards).streams == 1);
}

TEST_CASE("curves: straight between points, constant below, the last slope beyond") {
  const Curve c({{10, Seconds{1}}, {20, Seconds{2}}, {30, Seconds{5}}});
  CHECK(c(5).count() == 1);
  CHECK(c(10).count() == 1);
  CHECK(c(15).count() == doctest::Approx(1.5));
  CHECK(c(25).count() == doctest::Approx(3.5));
  CHECK(c(30).count() == doctest::Approx(5));
  CHECK(c(40).count() == doctest::Approx(8));
  CHECK(Curve()(7).count() == 0);
  CHECK(Curve({{10, Seconds{1}}})(1e9).count() == 1);
  CHECK(Curve({{0, Seconds{2}}, {1, Seconds{1}}})(5).count() == 0);  // never negative
  const Curve line = Curve::line(Seconds{1e-6}, Seconds{2e-11});
  CHECK(line(0).count() == doctest::Approx(1e-6).epsilon(1e-12));
  CHECK(line(1e6).count() == doctest::Approx(2.1e-5).epsilon(1e-12));
}

TEST_CASE("what cannot be simulated is refused") {
  const auto refused = [](auto&& change) {
    MadeJob m = made(ms(1, 1, 1), 1);
    std::uint32_t n = 1;
    change(m, n);
    CHECK_THROWS_AS(simulate_total(m.job, n, m.costs, Order::breadth_first), Error);
  };
  refused([](MadeJob&, std::uint32_t& n) { n = 0; });
  refused([](MadeJob&, std::uint32_t& n) { n = (1u << 24) + 1; });
  refused([](MadeJob& m, std::uint32_t&) { m.job.kernel = Seconds{-1}; });
  refused([](MadeJob& m, std::uint32_t&) { m.costs.gap = ms(0, -1, 0); });
  refused([](MadeJob& m, std::uint32_t&) { m.costs.issue = ms(0, 0, NAN); });
  refused([](MadeJob& m, std::uint32_t&) { m.costs.latency = ms(INFINITY, 0, 0); });
  refused([](MadeJob& m, std::uint32_t&) { m.costs.stream_create = Seconds{-1}; });
  refused([](MadeJob& m, std::uint32_t&) { m.costs.duplex_slowdown_h2d = 0.9; });
  refused([](MadeJob& m, std::uint32_t&) { m.costs.copy_engines = 3; });
  CHECK_THROWS_AS(Curve({{1, Seconds{1}}, {1, Seconds{2}}}), Error);
  CHECK_THROWS_AS(Curve({{1, Seconds{-1}}}), Error);
  CHECK_THROWS_AS(Curve({{NAN, Seconds{1}}}), Error);
}
}  // namespace simulator_test
