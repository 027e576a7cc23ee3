// Jobs as CUDA graphs, with numbers that can be added up by hand.
#include "npgpu/graphs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "npgpu/error.hpp"
#include "npgpu/report.hpp"
#include "tests/made_jobs.hpp"

namespace graphs_test {

using namespace npgpu;

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

}  // namespace graphs_test
