// Graphs against launches one by one, with numbers that can be added up by hand.
#include <doctest/doctest.h>

#include <sstream>
#include <tuple>

#include "netpipe/model/calls/calls.hpp"
#include "npgpu/derive.hpp"
#include "npgpu/report.hpp"
#include "npgpu/trace_results.hpp"
#include "tests/made_visit.hpp"

namespace calls_report_test {

using namespace npgpu;

namespace {

// Nine trials within 1 % of `done_us`, each returning after half of it.
void visit(CallSeries& series, std::uint32_t nodes, double done_us, int intact = 1) {
  Visit<Calls> visit = next_visit(series, {.blocks = 1, .nodes = nodes}, 9);
  visit.work = 1;
  for (std::uint32_t i = 0; i < 9; ++i)
    series.samples.push_back({.visit = static_cast<std::uint32_t>(series.visits.size()),
                              .trial = i,
                              .intact = i == 8 ? intact : -1,
                              .repeats = 10,
                              .host_us = 5 * done_us,
                              .done_us = series.question.call == Call::graph_instantiate
                                             ? not_measured
                                             : 10 * done_us * (0.996 + 0.001 * i)});
  series.visits.push_back(visit);
}

void add(Trace& trace, Call call, GraphForm form, std::uint32_t nodes, double done_us, int intact = 1) {
  CallSeries series;
  series.question = {"cuda:0", call, Spacing::alone, form};
  series.device_name = "GPU";
  visit(series, nodes, done_us, intact);
  trace.of<Calls>().push_back(series);
}

Trace graphs() {
  Trace trace;
  for (const auto& [nodes, one_by_one, graph] : {std::tuple{1u, 8.0, 9.0}, {4u, 16.0, 12.0}, {16u, 60.0, 20.0}}) {
    add(trace, Call::launches, GraphForm::chain, nodes, one_by_one);
    add(trace, Call::graph_launch, GraphForm::chain, nodes, graph);
    add(trace, Call::graph_instantiate, GraphForm::chain, nodes, 2 * 70.0);  // returns after 70 us
  }
  return trace;
}

}  // namespace

TEST_CASE("a graph pays after as many launches as save its instantiation, and from the length where it is faster") {
  const Trace trace = graphs();
  const auto rows = model::graph_rows(trace.of<Calls>(), "cuda:0");
  REQUIRE(rows.size() == 3);
  CHECK_FALSE(rows[0].pays_after);  // 9 us against 8
  REQUIRE(rows[1].pays_after);
  CHECK(*rows[1].pays_after == 18);  // 70 / 4, rounded up
  CHECK(*rows[2].pays_after == 2);   // 70 / 40
  CHECK(*model::pays_from(rows, GraphForm::chain) == 4);
  CHECK_FALSE(model::pays_from(rows, GraphForm::fork));
}

TEST_CASE("a graph whose interval meets that of the launches does not pay") {
  Trace trace;
  add(trace, Call::launches, GraphForm::fork, 2, 10.0);
  add(trace, Call::graph_launch, GraphForm::fork, 2, 9.95);
  add(trace, Call::graph_instantiate, GraphForm::fork, 2, 10);
  CHECK_FALSE(model::graph_rows(trace.of<Calls>(), "cuda:0")[0].pays_after);
}

TEST_CASE("the estimate of a call is until its work is done, and wrong work has none") {
  Trace trace;
  add(trace, Call::launches, GraphForm::chain, 4, 16.0);
  add(trace, Call::launches, GraphForm::chain, 4, 16.0, 0);
  const auto right = results(trace.of<Calls>()[0]).front(), wrong = results(trace.of<Calls>()[1]).front();
  CHECK(right.usable());
  CHECK(right.time_us.value == doctest::Approx(16.0));
  CHECK(right.min_us == doctest::Approx(16 * 0.996));
  CHECK_FALSE(wrong.usable());
}

TEST_CASE("a disturbed visit to a call does not count; a call whose visits all were is marked") {
  Trace trace;
  add(trace, Call::launch, GraphForm::none, 0, 8.0);
  CallSeries& series = trace.of<Calls>()[0];
  visit(series, 0, 16.0);
  visit(series, 0, 10.0);
  disturb(series.visits[1], Cause::host_busy, "python3 (4711)");
  const auto told = [&] {
    std::ostringstream out;
    report_text(out, TraceResults(trace), {});
    return out.str();
  };
  CHECK(results(series)[0].trials == 18);
  CHECK(results(series)[0].done_us.value == doctest::Approx(9));
  CHECK(results(series)[0].max_us == doctest::Approx(10 * 1.004));
  CHECK(told().find("disturbed") == std::string::npos);
  for (const std::size_t i : {0U, 2U}) disturb(series.visits[i], Cause::host_busy);
  CHECK(results(series)[0].trials == 27);
  CHECK(results(series)[0].done_us.value == doctest::Approx(10));
  CHECK(told().find("  *d\n") != std::string::npos);  // 8, 16 and 10 us scatter, too
  CHECK(told().find(
            "d 1 of 1 times of calls were disturbed: others used the host's processors; most of all by python3") !=
        std::string::npos);
}

TEST_CASE("the report has one table of graphs, and says from which length they pay") {
  std::ostringstream out;
  report_text(out, TraceResults(graphs()), {});
  CHECK(out.str().find("chain of 16") != std::string::npos);
  CHECK(out.str().find("18 launches") != std::string::npos);
  CHECK(out.str().find("a chain is done sooner as a graph from 4 kernels on") != std::string::npos);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}

TEST_CASE("clearing is derived from sizes: the slope is its rate, whatever the call itself takes") {
  Trace trace;
  CallSeries series;
  series.question = {"cuda:0", Call::free, Spacing::alone, GraphForm::none};
  for (const double gib : {0.25, 1.0, 4.0, 16.0}) {
    const auto bytes = static_cast<std::uint64_t>(gib * GiB);
    for (int round = 0; round < 3; ++round) {
      Visit<Calls> visit = next_visit(series, {.bytes = bytes}, 1);
      visit.work = 1;
      // 90 us, and 400 GB/s; of 0.25 GiB no read was slower.
      const bool is_seen = gib > 0.5;
      series.samples.push_back({.visit = static_cast<std::uint32_t>(series.visits.size()),
                                .trial = 0,
                                .intact = 1,
                                .repeats = 1,
                                .host_us = 90,
                                .done_us = is_seen ? 90 + static_cast<double>(bytes) / 400e3 : 90,
                                .slowed = is_seen ? 1.25 : not_measured});
      series.visits.push_back(visit);
    }
  }
  trace.of<Calls>().push_back(series);
  const auto all = derive(trace);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].parameters.size() == 2);
  CHECK(all[0].parameters[0].name == "clearing rate");
  CHECK(all[0].parameters[0].estimate.value == doctest::Approx(400e9));
  CHECK(all[0].parameters[1].name == "clearing share");
  CHECK(all[0].parameters[1].estimate.value == doctest::Approx(0.2));
  // Memory that no read waits for says nothing of clearing.
  for (CallSample& sample : trace.of<Calls>()[0].samples) sample.slowed = not_measured;
  CHECK(derive(trace).empty());
}

}  // namespace calls_report_test
