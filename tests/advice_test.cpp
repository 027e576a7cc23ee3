// What is advised of streams and graphs, and how that would go on an H200.
#include "npgpu/model/advice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/made_jobs.hpp"

namespace advice_test {

using namespace npgpu;

// What is advised, with jobs whose times can be added up by hand.

namespace {

constexpr std::uint64_t line = 128;
// 4.096 ms in, as long out.
const Job copies{.in_bytes = 4'096'000, .out_bytes = 4'096'000};

Forecast forecast_of(const Job& job, const MeasuredCosts& m, std::uint32_t most = 32) {
  return forecast(job, m, Order::breadth_first, stream_counts(most), Parts::some);
}

SplitTime split(std::uint32_t chunks, std::uint32_t streams, double us) {
  SplitTime s{chunks, streams};
  s.run.total = from_microseconds(us);
  return s;
}

}  // namespace

TEST_CASE("buffers: one for a chunk's bytes in and one for its bytes out, for each stream; never more than the job") {
  const Job job{.in_bytes = 1000 * line, .out_bytes = 10 * line};
  const Buffers whole = buffers_of(job, 1, 1);
  CHECK(whole.in_bytes == 1000 * line);
  CHECK(whole.out_bytes == 10 * line);
  CHECK(whole.all_bytes == 1010 * line);
  const Buffers cut = buffers_of(job, 10, 10);
  CHECK(cut.in_bytes == 100 * line);
  CHECK(cut.out_bytes == line);
  CHECK(cut.all_bytes == 1010 * line);
  const Buffers in_turn = buffers_of(job, 10, 2);
  CHECK(in_turn.all_bytes == 2 * 101 * line);
  // What does not divide goes into the largest chunk, in whole lines.
  CHECK(buffers_of({.in_bytes = 1000}, 3, 1).in_bytes == 3 * line);
  CHECK(buffers_of({.in_bytes = 1000}, 3, 1).out_bytes == 0);
  // Of 24 items of 1000 B five chunks have five, and the last one four.
  CHECK(buffers_of({.in_bytes = 24'000, .items = 24}, 5, 1).in_bytes == 5000);
}

TEST_CASE("chunks in turn: a stream's next chunk waits for its last one's copy out") {
  // Four chunks of 1.024 ms each way in two streams: two copies in, then in and out in turn, five times as long.
  const auto run = simulate_total(copies, 4, plain_costs().costs, Order::depth_first, 2);
  CHECK(microseconds(run.total) == doctest::Approx(5 * 1024));
  const auto all = chunks_in_turn(copies, plain_costs().costs, 4'096'000, 8);
  REQUIRE(!all.empty());
  for (const SplitTime& s : all) {
    CHECK(buffers_of(copies, s.chunks, s.streams).all_bytes <= 4'096'000);
    CHECK(s.chunks > s.streams);
    CHECK(s.chunks % s.streams == 0);
    CHECK(s.streams <= 8);
    CHECK(s.order == Order::depth_first);
    CHECK(s.run.total == simulate_total(copies, s.chunks, plain_costs().costs, Order::depth_first, s.streams).total);
  }
  // One stream does one thing at a time, whatever its chunks.
  const auto serial = std::find_if(all.begin(), all.end(), [](const SplitTime& s) { return s.streams == 1; });
  REQUIRE(serial != all.end());
  CHECK(microseconds(serial->run.total) == doctest::Approx(2 * 4096));
  CHECK(chunks_in_turn(copies, plain_costs().costs, 2 * line - 1, 8).empty());
  // Of 16 items no chunk has a part of one, and an item each way has to fit.
  Job items = copies;
  items.items = 16;
  const auto whole = chunks_in_turn(items, plain_costs().costs, 4'096'000, 8);
  REQUIRE(!whole.empty());
  for (const SplitTime& s : whole) CHECK(16 % s.chunks == 0);
  CHECK(chunks_in_turn(items, plain_costs().costs, (items.in_bytes + items.out_bytes) / 16 - 1, 8).empty());
  CHECK(chunks_in_turn(copies, plain_costs().costs, 2 * line, 8).size() == 1);  // a line each way at a time
}

TEST_CASE("one rule: within 1 % of the fastest the least memory, then the fewest streams, then a power of two") {
  const std::vector<SplitTime> all{split(1, 1, 200), split(2, 2, 102), split(4, 4, 100.9), split(8, 8, 100),
                                   split(64, 3, 100.5)};
  CHECK(fastest(all).streams == 8);
  CHECK(fewest_streams(all).streams == 3);
  CHECK(fewest_streams(all, 0.03).streams == 2);
  CHECK(fewest_streams(all, 0).streams == 8);
  const Job job{.in_bytes = 6400 * line};
  using Splits = std::vector<SplitTime>;
  CHECK(advised_split(job, all).chunks == 64);                                           // three buffers of a 64th each
  CHECK(advised_split(job, Splits{split(8, 8, 100), split(64, 3, 101.5)}).chunks == 8);  // 1.5 % longer
  // With a chunk in each stream all take the whole job's memory: the fewest streams.
  CHECK(advised_split(job, Splits{split(2, 2, 102), split(5, 5, 100.5), split(6, 6, 100)}).streams == 5);
  // As much memory, as many streams: a power of two of chunks, or of items a number that divides them.
  const Job none{.kernel = Seconds{1e-3}};
  CHECK(advised_split(none, Splits{split(3, 2, 100), split(4, 2, 100.5)}).chunks == 4);
  CHECK(advised_split({.kernel = Seconds{1e-3}, .items = 3}, Splits{split(3, 2, 100.5), split(4, 2, 100)}).chunks == 3);
  // A job that gains less than 1 % stays whole, although it takes more memory.
  CHECK(advised_split(job, Splits{split(1, 1, 100.9), split(64, 3, 100)}).chunks == 1);
}

TEST_CASE("the advice is within 1 % of all that was tried, and no other such form takes less memory") {
  const MeasuredCosts m = plain_costs(Seconds{10e-6});
  const Forecast f = forecast_of(copies, m);
  const Advice a = advise(copies, m, Order::breadth_first, f, ModelErrors{}, {}, 32);
  CHECK(a.best.run.total <= f.prediction.time);
  CHECK(a.advised.run.total <= 1.01 * a.best.run.total);
  const auto memory = [](const SplitTime& one) { return buffers_of(copies, one.chunks, one.streams).all_bytes; };
  const auto all = splits_of(copies, m.costs, Order::breadth_first, f.prediction, {}, 32);
  CHECK(all.size() > f.prediction.candidates.size());  // those, and chunks in turn
  for (const SplitTime& one : all)
    if (one.run.total <= 1.01 * a.best.run.total) CHECK(memory(one) >= memory(a.advised));
  CHECK(memory(a.advised) < 8'192'000 / 2);
  CHECK(a.in_turn());
  CHECK_FALSE(a.is_limited);
  CHECK_FALSE(a.is_capped);
  CHECK_FALSE(a.error_of_form());
  CHECK_FALSE(a.error);
  CHECK_FALSE(a.graph);  // its costs are not known
}

TEST_CASE("a limit that the advice keeps changes nothing; one that it does not keep makes it take less") {
  const MeasuredCosts m = plain_costs(Seconds{10e-6});
  const Forecast f = forecast_of(copies, m);
  const auto within = [&](std::optional<std::uint64_t> bytes) {
    return advise(copies, m, Order::breadth_first, f, ModelErrors{}, bytes, 32);
  };
  const auto memory = [](const SplitTime& one) { return buffers_of(copies, one.chunks, one.streams).all_bytes; };
  const Advice free = within({});
  for (const std::uint64_t enough : {std::uint64_t{8'192'000}, memory(free.advised)}) {
    const Advice same = within(enough);
    CHECK(same.advised.chunks == free.advised.chunks);
    CHECK(same.advised.streams == free.advised.streams);
    CHECK_FALSE(same.is_limited);
  }
  const Advice tight = within(memory(free.advised) / 2);
  CHECK(tight.is_limited);
  CHECK(tight.in_turn());
  CHECK(tight.advised.order == Order::depth_first);
  CHECK(memory(tight.advised) <= memory(free.advised) / 2);
  CHECK(tight.advised.run.total <= 1.01 * tight.best.run.total);
  CHECK(tight.best.run.total >= free.best.run.total);
  const Forecast of_two = forecast_of(copies, m, 2);
  CHECK(advise(copies, m, Order::breadth_first, of_two, ModelErrors{}, {}, 2).is_capped);
  try {
    advise(copies, m, Order::breadth_first, f, ModelErrors{}, 100, 32);
    FAIL("100 B held a chunk");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("100 B of device memory") == 0);
  }
}

TEST_CASE("the error is that of measured jobs as long as this one in one stream") {
  ModelErrors errors{"jobs of mine"};
  errors.classes = {{0, 1000, 3, {0.1, 0.2, 0.3}}, {1000, 9000, 7, {0.01, 0.02, 0.03}}, {9000, 20000, 0, {}}};
  const MeasuredCosts m = plain_costs();
  const auto error_of = [&](const Job& job) {
    return advise(job, m, Order::breadth_first, forecast_of(job, m), errors, {}, 32);
  };
  const Advice a = error_of(copies);  // 8192 us in one stream
  REQUIRE(a.error);
  CHECK(a.error->workloads == 7);
  CHECK(a.error_source == "jobs of mine");
  CHECK(error_of({.in_bytes = 100'000, .out_bytes = 100'000}).error->workloads == 3);
  CHECK_FALSE(error_of({.in_bytes = 10'000'000, .out_bytes = 1'000}).error);  // none was measured
}

TEST_CASE("measured jobs with chunks in turn: each against the simulator, with the kernel of the unsplit job") {
  JobSeries series = jobs_of();
  series.question.order = Order::depth_first;
  const auto add = [&](std::uint32_t chunks, std::uint32_t streams, double us) {
    add_job(series, split_job(4'096'000, chunks, streams), {us, us, us});
  };
  add(1, 2, 2 * 4096 + 1000);  // a kernel of 1 ms
  add(4, 4, 6000);             // a chunk in each stream: in no such error
  const MeasuredCosts m = plain_costs();
  const Job job{.in_bytes = 4'096'000, .out_bytes = 4'096'000, .kernel = Seconds{1e-3}};
  const double us = microseconds(simulate_total(job, 4, m.costs, Order::depth_first, 2).total);
  add(4, 2, us / 1.1);
  Trace trace;
  trace.of<Jobs>() = {series};
  const auto splits = predict_in_turn(trace, m);
  REQUIRE(splits.size() == 1);
  CHECK(splits[0].chunks == 4);
  CHECK(splits[0].streams == 2);
  CHECK(splits[0].predicted_us == doctest::Approx(us));
  CHECK(splits[0].measured_us == doctest::Approx(us / 1.1));
  ModelErrors errors{"mine", {}, error_in_turn(splits)};
  REQUIRE(errors.in_turn);
  CHECK(errors.in_turn->workloads == 1);
  CHECK(errors.in_turn->error.median == doctest::Approx(0.1));
  CHECK_FALSE(error_in_turn({}));
  // The error that is told is that of the advised form.
  const MeasuredCosts slow = plain_costs(Seconds{10e-6});
  const Advice a = advise(copies, slow, Order::breadth_first, forecast_of(copies, slow), errors, {}, 32);
  REQUIRE(a.in_turn());
  CHECK(a.error_of_form()->workloads == 1);
  errors.in_turn.reset();
  errors.classes = {{0, 1e9, 7, {0.01, 0.02, 0.03}}};
  const Advice b = advise(copies, slow, Order::breadth_first, forecast_of(copies, slow), errors, {}, 32);
  CHECK(b.error->workloads == 7);
  CHECK_FALSE(b.error_of_form());
  trace.of<Jobs>()[0].question.order = Order::breadth_first;  // buffers would not take turns
  CHECK(predict_in_turn(trace, m).empty());
}

// A real H200: its costs, and the errors that predictions are printed with. tests/study_test.py holds what predictions
// are good for.

namespace {

Trace kept(const char* name) { return read_trace(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces" / name); }

}  // namespace

TEST_CASE("a real H200: its costs, and 205 workloads predicted from them") {
  const auto costs = stream_costs(kept("h200_streams.h5"));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].usable);
  CHECK(costs[0].costs.copy_engines == 2);
  CHECK(costs[0].costs.queues.h2d == 4);
  CHECK(costs[0].costs.queues.kernel == 8);  // CUDA_DEVICE_MAX_CONNECTIONS is not set
  CHECK(costs[0].costs.queues.d2h == 4);
  REQUIRE(costs[0].kernels.size() == 3);
  for (const KernelTimes& kernel : costs[0].kernels)
    CHECK(kernel.oldest_first == (kernel.workload == Workload::compute ? 1 : 0));
  CHECK(costs[0].costs.copy_h2d(64.0 * MiB).count() == doctest::Approx(64.0 * MiB / 55.5e9).epsilon(0.01));

  const auto workloads = workloads_of(kept("h200_design.h5"));
  CHECK(workloads.size() == 205);
  // The errors that predictions are printed with are these. Where they are not, these belong into
  // netpipe/model/jobs/predicted_jobs.cpp.
  auto all = predict_jobs(workloads, costs[0]).jobs;
  const auto small = stream_costs(kept("h200_small_streams.h5"));
  REQUIRE(small.size() == 1);
  const auto more = predict_jobs(workloads_of(kept("h200_small_design.h5")), small[0]).jobs;
  all.insert(all.end(), more.begin(), more.end());
  const ModelErrors now = errors_by_length(all, "now"), &known = known_errors();
  REQUIRE(now.classes.size() == known.classes.size());
  for (std::size_t i = 0; i < now.classes.size(); ++i) {
    const Spread& error = now.classes[i].error;
    CAPTURE(i);
    CAPTURE(now.classes[i].workloads);
    CAPTURE(error.median);
    CAPTURE(error.p95);
    CAPTURE(error.most);
    CHECK(known.classes[i].workloads == now.classes[i].workloads);
    CHECK(std::abs(known.classes[i].error.median / now.classes[i].error.median - 1) < 0.1);
    CHECK(std::abs(known.classes[i].error.p95 / now.classes[i].error.p95 - 1) < 0.1);
    CHECK(std::abs(known.classes[i].error.most / now.classes[i].error.most - 1) < 0.1);
  }
  CHECK(costs[0].costs.gap_behind_kernel.count() == doctest::Approx(0.45e-6).epsilon(0.05));
}

// Costs with the gap ahead of kernels and with longer kernels of few warps, and jobs that other H200s ran on other
// days.
TEST_CASE("a real H200: costs of one predict jobs of others") {
  const auto costs = stream_costs(kept("h200_blind_costs_5.h5"));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].missing.empty());
  CHECK(costs[0].costs.gap_ahead_of_kernel.count() == doctest::Approx(1.13e-6).epsilon(0.05));
  const auto compute = std::ranges::find(costs[0].kernels, Workload::compute, &KernelTimes::workload);
  REQUIRE(compute != costs[0].kernels.end());
  const auto share = [&](double blocks) {
    return (compute->time_of_many(blocks) - compute->time_of_few(blocks)) /
           (compute->time_of_many(1) - compute->time_of_few(1));
  };
  // A multiprocessor's four schedulers have 1 to 4 warps each. 64 iterations alone say 0.82 in place of 0.7.
  CHECK(share(0.25) == doctest::Approx(0.3).epsilon(0.05));
  CHECK(share(0.5) == doctest::Approx(0.47).epsilon(0.05));
  CHECK(share(0.75) == doctest::Approx(0.7).epsilon(0.05));
}

// Measured in turn on one H200 whose host was quiet, with a seed that the model had not seen; and its costs with the
// jobs of another one.
TEST_CASE("a real H200: a blind test on a quiet host") {
  const auto costs = stream_costs(kept("h200_blind_costs_6.h5"));
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].missing.empty());
  REQUIRE(costs[0].costs.call_factors.size() == 9);
  CHECK(std::ranges::is_sorted(costs[0].costs.call_factors));
  CHECK(costs[0].costs.call_factors[4] == doctest::Approx(1).epsilon(0.001));
  CHECK(costs[0].costs.call_factors[8] - costs[0].costs.call_factors[0] == doctest::Approx(0.22).epsilon(0.15));
}

// 131 blocks of `increment`, 27 ms with one on each of 132 multiprocessors. In 5 or 8 chunks they are 135 or 136
// blocks, some multiprocessors have two, and the job takes 66 ms in place of 30.
TEST_CASE("a real H200: blocks stay on the multiprocessor where they were placed") {
  const auto costs = stream_costs(kept("h200_blind_costs_2.h5"));
  REQUIRE(costs.size() == 1);
  const auto jobs = predict_jobs(workloads_of(kept("h200_placed_design.h5")), costs[0]).jobs;
  const auto found =
      std::ranges::find(jobs, 131u * 2048u, [](const PredictedJob& one) { return one.workload.job.kernel_bytes; });
  REQUIRE(found != jobs.end());
  for (std::size_t i = 0; i < found->workload.streams.size(); ++i) {
    const std::uint32_t n = found->workload.streams[i];
    const double predicted = found->predicted_us[i], measured = found->workload.time_us[i].value;
    CAPTURE(n);
    if (n == 1 || n == 2 || n == 3 || n == 4 || n == 6 || n == 11 || n == 12) CHECK(measured < 31e3);
    if (n == 5 || n == 8) CHECK(measured > 60e3);
    if (n <= 6 || n == 8 || n == 11 || n == 12) CHECK(predicted == doctest::Approx(measured).epsilon(0.05));
  }
}

// Jobs as CUDA graphs, with numbers that can be added up by hand.

namespace {

void add_call(Trace& trace, Call call, GraphForm form, std::uint32_t nodes, double host_us) {
  CallSeries& series = trace.of<Calls>().emplace_back();
  series.question = {"cuda:0", call, Spacing::alone, form};
  Visit<Calls> visit = next_visit(series, {.blocks = 1, .nodes = nodes}, 1);
  series.samples.push_back({.visit = 0, .trial = 0, .intact = 1, .repeats = 10, .host_us = 10 * host_us});
  series.visits.push_back(visit);
}

// A launch takes 1 us and 0.5 us for each node, making a graph 2 us and 3 us for each.
Trace calls() {
  Trace trace;
  for (const std::uint32_t nodes : {1u, 4u, 16u, 64u}) {
    add_call(trace, Call::graph_launch, GraphForm::fork, nodes, 1 + 0.5 * nodes);
    add_call(trace, Call::graph_launch, GraphForm::chain, nodes, 1);
    add_call(trace, Call::graph_instantiate, GraphForm::fork, nodes, 2 + 3.0 * nodes);
  }
  return trace;
}

// 1 B in 1 ns either way, two engines; every call takes 10 us.
MeasuredCosts plain() {
  MeasuredCosts m;
  m.usable = true;
  m.costs.copy_h2d = m.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-9});
  m.costs.issue = {Seconds{10e-6}, Seconds{10e-6}, Seconds{10e-6}};
  m.costs.issue_h2d = m.costs.issue_kernel = m.costs.issue_d2h = Curve::line(Seconds{10e-6}, Seconds{0});
  m.graph = graph_costs(calls(), "cuda:0", "");
  return m;
}

const Job tiny{.in_bytes = 8'000, .out_bytes = 8'000, .kernel = Seconds{8e-6}};

}  // namespace

TEST_CASE("what graphs cost, from forks of kernels: of this device, and from two sizes on") {
  const auto costs = graph_costs(calls(), "cuda:0", "");
  REQUIRE(costs);
  CHECK(microseconds(costs->launch(4)) == doctest::Approx(3));
  CHECK(microseconds(costs->launch(10)) == doctest::Approx(6));
  CHECK(microseconds(costs->instantiate(16)) == doctest::Approx(50));
  CHECK_FALSE(graph_costs(calls(), "cuda:1", ""));
  CHECK_FALSE(graph_costs(calls(), "cuda:0", "GPU-other"));
  Trace one;
  add_call(one, Call::graph_launch, GraphForm::fork, 4, 3);
  CHECK_FALSE(graph_costs(one, "cuda:0", ""));
}

TEST_CASE("where jobs were launched as graphs, what their launches took counts, over all of their nodes") {
  Trace trace = calls();
  JobSeries& graph = trace.of<Jobs>().emplace_back(jobs_of());
  graph.question.issue = Issuing::graph;
  for (const std::uint32_t n : {1u, 2u, 8u}) {
    add_job(graph, {.bytes_in = n * 4096, .bytes_out = n * 4096, .kernel_bytes = n * 4096, .chunks = n, .streams = n},
            {50, 50});
    for (auto sample = graph.samples.end() - 2; sample != graph.samples.end(); ++sample) sample->issue_us = 3.0 + 6 * n;
  }
  const auto costs = graph_costs(trace, "cuda:0", "");
  REQUIRE(costs);
  CHECK(costs->of_jobs);
  CHECK(microseconds(costs->launch(3)) == doctest::Approx(9));
  CHECK(microseconds(costs->launch(24)) == doctest::Approx(51));
  CHECK(microseconds(costs->instantiate(16)) == doctest::Approx(50));  // of calls
  CHECK_FALSE(graph_costs(calls(), "cuda:0", "")->of_jobs);
  // 3 us, and 2 for each node: also of a graph that is smaller than any measured one.
  const StreamCosts smaller = as_graph({}, *costs, {.in_bytes = 4096}, 1);
  CHECK(microseconds(smaller.graph_launch) == doctest::Approx(3));
  CHECK(microseconds(smaller.issue.h2d) == doctest::Approx(2));
}

TEST_CASE("a job as a graph: the host pays the launch, then as much for each node") {
  const MeasuredCosts m = plain();
  CHECK(nodes_of(tiny, 4) == 12);
  CHECK(nodes_of({.in_bytes = 1}, 4) == 4);
  const StreamCosts costs = as_graph(m.costs, *m.graph, tiny, 4);
  CHECK(microseconds(costs.graph_launch) == doctest::Approx(1));
  CHECK(microseconds(costs.issue.kernel) == doctest::Approx(0.5));
  // Unsplit: 1 + 0.5 us until the copy in may begin, then 8 each of copy, kernel, copy.
  CHECK(microseconds(simulate_total(tiny, 1, as_graph(m.costs, *m.graph, tiny, 1), Order::depth_first).total) ==
        doctest::Approx(1.5 + 24));
  // In streams the kernel's call and the copy's each come 10 us after the other: 30 until the last, and 8 for it.
  CHECK(microseconds(simulate_total(tiny, 1, m.costs, Order::depth_first).total) == doctest::Approx(38));
}

TEST_CASE("a graph is advised where it ends sooner, and pays once it has saved its making") {
  const MeasuredCosts m = plain();
  const std::vector<std::uint32_t> counts{1};
  const SplitTime in_streams{1, 1, Order::depth_first, simulate_total(tiny, 1, m.costs, Order::depth_first)};
  const GraphAdvice a = advise_graph(tiny, m.costs, *m.graph, Order::depth_first, counts, in_streams);
  CHECK(a.gain == doctest::Approx(1 - 25.5 / 38));
  REQUIRE(a.instantiate);
  CHECK(microseconds(*a.instantiate) == doctest::Approx(11));  // three nodes
  REQUIRE(a.pays_after);
  CHECK(*a.pays_after == 1);  // 11 us to make, 12.5 saved
  // A long job: calls do not count.
  const Job large{.in_bytes = 8'000'000, .out_bytes = 8'000'000};
  const SplitTime slow{1, 1, Order::depth_first, simulate_total(large, 1, m.costs, Order::depth_first)};
  const GraphAdvice none = advise_graph(large, m.costs, *m.graph, Order::depth_first, counts, slow);
  CHECK(std::abs(none.gain) < same_time_tolerance);
  CHECK_FALSE(none.pays_after);
}

TEST_CASE("measured both ways: matched by job, and predicted each") {
  JobSeries streams = jobs_of(), graph = jobs_of();
  graph.question.issue = Issuing::graph;
  const auto add = [](JobSeries& series, std::uint32_t n, double us, std::uint64_t bytes = 800'000) {
    add_job(series,
            {.bytes_in = bytes, .bytes_out = bytes, .kernel_bytes = 4096, .iterations = 7, .chunks = n, .streams = n},
            {us, us, us});
  };
  // In streams: 10 us for the first call, then 0.8 ms in, kernel and out: the kernel is 0.8 ms.
  for (const auto& [n, us] : {std::pair{1u, 2410.0}, {2u, 1610.0}, {4u, 1210.0}, {8u, 1010.0}}) add(streams, n, us);
  for (const auto& [n, us] : {std::pair{1u, 2400.0}, {2u, 1500.0}, {4u, 1250.0}, {8u, 990.0}}) add(graph, n, us);
  for (const std::uint32_t n : {1u, 2u, 4u, 8u}) add(graph, n, 100, 400'000);  // not measured in streams
  Trace trace;
  trace.of<Jobs>() = {streams, graph};
  CHECK(workloads_of(trace).size() == 1);
  CHECK(graph_workloads_of(trace).size() == 2);
  const MeasuredCosts m = plain();
  const auto all = compare_graphs(workloads_of(trace), graph_workloads_of(trace), m);
  REQUIRE(all.size() == 1);
  CHECK(all[0].kernel_us == doctest::Approx(800));
  CHECK(all[0].graph_us[0] == doctest::Approx(1.5 + 2400));
  CHECK(all[0].graph.streams.size() == 4);
  // Breadth-first, two chunks: 1 + 0.5 us, then four halves of 0.8 ms.
  CHECK(all[0].graph_us[1] == doctest::Approx(1.5 + 1600));

  MeasuredCosts unknown = m;
  unknown.graph.reset();
  CHECK_THROWS_AS(compare_graphs(workloads_of(trace), graph_workloads_of(trace), unknown), Error);
}

TEST_CASE("jobs as graphs are in no cost of calls") {
  // The same jobs, once as they are and once as a graph that is absurdly fast: the costs stay.
  Trace trace;
  JobSeries graph = jobs_of();
  graph.question.workload = Workload::none;
  graph.question.issue = Issuing::graph;
  for (const std::uint32_t n : {1u, 5u, 9u, 17u})
    add_job(graph, {.bytes_in = n * 4096, .chunks = n, .streams = n}, {1.0, 1.0});
  trace.of<Jobs>() = {graph};
  for (const MeasuredCosts& m : stream_costs(trace))
    for (const CostParameter& p : m.parameters) CHECK(std::isnan(p.estimate.value));
}

}  // namespace advice_test
