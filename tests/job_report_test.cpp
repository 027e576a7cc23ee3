// Reports of jobs, calls and pieces.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/report/series_text.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/derive.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "tests/made_jobs.hpp"
#include "tests/made_visit.hpp"

namespace job_report_test {

using namespace npgpu;

// Jobs in streams: table and JSON.

namespace {

const JobShape unsplit{.bytes_in = 60 * MiB, .bytes_out = MiB, .kernel_bytes = 60 * MiB, .iterations = 64};

Trace made() {
  Trace trace;
  trace.of<Jobs>().push_back(jobs_of());
  add_job(trace.of<Jobs>()[0], unsplit, {3000, 3000, 3000, 3000, 3000, 3000});
  JobShape cut = unsplit;
  cut.chunks = cut.streams = 16;
  add_job(trace.of<Jobs>()[0], cut, {1500, 1500, 1500, 1500, 1500, 1920});
  trace.of<Jobs>()[0].visits[1].stop = Stop::not_converged;
  return trace;
}

template <class Export> std::string text(Export write, const Trace& trace) {
  std::ostringstream out;
  write(out, trace);
  return out.str();
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a job in words") {
  CHECK(text_of(unsplit) == "60 MiB in, 1 MiB out, kernel 60 MiB x 64, 1 chunk in 1 stream");
  CHECK(text_of({.bytes_out = 4, .chunks = 3, .streams = 2, .threads = 32}) ==
        "4 B out, 3 chunks in 2 streams, 32 threads a block");
  CHECK(point_text(made().of<Jobs>()[0]) == "3.000 ms ±0.00 %");
  CHECK(point_text(jobs_of()) == "not usable");
}

TEST_CASE("the table: median, interval, speed-up, and what is unsteady") {
  TextStyle wide;
  wide.width = 160;
  const std::string told = text([&](auto& out, const Trace& t) { report_text(out, TraceResults(t), wide); }, made());
  CAPTURE(told);
  CHECK(has(told, "jobs cuda:0 increment breadth-first pooled"));
  CHECK(has(told, "3000 "));
  CHECK(has(told, "+0.0 +18.0 %"));  // of six, 5/14 of the way from 1920 to 1500
  CHECK(has(told, " 2.00"));
  CHECK(has(told, "* 1 of 2 jobs unsteady: an interval wider than +-5 %"));
  CHECK_FALSE(has(told, "SIMULATED"));
  CHECK(has(told, "; jobs: 1 series, 2 points\n"));
  CHECK_FALSE(has(told, "transfers"));
  Trace simulated = made();
  simulated.of<Jobs>()[0].simulated = true;
  simulated.of<Jobs>()[0].error = "lost";
  CHECK(has(text([&](auto& out, const Trace& t) { report_text(out, TraceResults(t), wide); }, simulated),
            "SIMULATED jobs"));
  CHECK(has(text([&](auto& out, const Trace& t) { report_text(out, TraceResults(t), wide); }, simulated),
            "SIMULATED: no measurement"));
}

TEST_CASE("with the last stream free the table has the host's time, and says what that is") {
  Trace trace;
  trace.of<Jobs>().push_back(jobs_of());
  trace.of<Jobs>()[0].question.gating = Gating::last_stream_free;
  add_job(trace.of<Jobs>()[0], {.bytes_in = 256, .chunks = 2, .streams = 2}, {231});
  const std::string told = text([](auto& out, const Trace& t) { report_text(out, TraceResults(t), {}); }, trace);
  CAPTURE(told);
  CHECK(has(told, "jobs cuda:0 increment breadth-first pooled last-stream-free"));
  CHECK(has(told, "231"));
  CHECK(has(told, "while all other"));
  CHECK(has(told, "200 us after"));
  const auto json =
      nlohmann::json::parse(text([](auto& out, const Trace& t) { report_json(out, TraceResults(t)); }, trace));
  CHECK(json["jobs"][0]["case"]["gating"] == "last-stream-free");
  CHECK(json["jobs"][0]["points"][0]["time_us"]["value"] == 231);
}

TEST_CASE("wrong results have no time") {
  Trace trace = made();
  trace.of<Jobs>()[0].samples[11].intact = 0;
  CHECK(
      has(text([](auto& out, const Trace& t) { report_text(out, TraceResults(t), {}); }, trace), "! no usable trial"));
}

TEST_CASE("a job that was disturbed is marked") {
  Trace trace = made();
  disturb(trace.of<Jobs>()[0].visits[1], Cause::host_busy, "python3 (4711)");
  const std::string told = text([](auto& out, const Trace& t) { report_text(out, TraceResults(t), {}); }, trace);
  CHECK(has(told, "  *d\n"));
  CHECK(has(told, "d 1 of 2 jobs were disturbed: others used the host's processors; most of all by"));
}

TEST_CASE("JSON: summaries, and everything") {
  const auto report =
      nlohmann::json::parse(text([](auto& out, const Trace& t) { report_json(out, TraceResults(t)); }, made()));
  const auto& point = report["jobs"][0]["points"][1];
  CHECK(report["jobs"][0]["case"]["workload"] == "increment");
  CHECK(report["jobs"][0]["case"]["gating"] == "open");
  CHECK(point["chunks"] == 16);
  CHECK(point["time_us"]["value"] == 1500);
  CHECK(point["speed_up"] == 2);
  CHECK(point["create_us"].is_null());
  CHECK(point["stop"] == "not-converged");
  const auto all = nlohmann::json::parse(text([](auto& out, const Trace& t) { export_json(out, t); }, made()));
  CHECK(all["jobs"][0]["visits"]["bytes_in"][0] == 60 * MiB);
  CHECK(all["jobs"][0]["samples"]["host_us"].size() == 12);
  CHECK(all["jobs"][0]["samples"]["device_us"][0].is_null());
}

// Graphs against launches one by one, with numbers that can be added up by hand.

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
  add(trace, Call::default_launches, GraphForm::chain, 4, 17.0);
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
  CHECK(out.str().find("chain of 4 with every other launch in the default stream") != std::string::npos);
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

// What the tables of pieces say, on times that a reader can divide.
namespace pieces_report {

namespace {

WayTime way(PieceWay which, double us, double over, double low, double high) {
  return {which,
          {us, 0.99 * us, 1.01 * us, "us", ""},
          {us / 2, us / 2, us / 2, "us", ""},
          {over, low, high, "1", ""},
          !(low > 0)};
}

PieceTable made() {
  PieceTable table{{.device = "cuda:0", .direction = Direction::d2h}, "Test GPU", false, {}, {}};
  table.rows.push_back({8, 1024, {way(PieceWay::loop, 20, 0, 0, 0), way(PieceWay::kernel, 22, 0.1, -0.02, 0.2)}, {}});
  table.rows.push_back({8, 4096, {way(PieceWay::kernel, 25, 0, 0, 0), way(PieceWay::loop, 50, 1, 0.9, 1.1)}, {}});
  table.rows.push_back({8, 8192, {way(PieceWay::kernel, 30, 0, 0, 0)}, {"loop: the pieces were wrong"}});
  return table;
}

std::string text(const PieceTable& table, int width = 100) {
  const Trace trace;
  TraceResults results(trace);
  results.pieces = {table};
  Document doc;
  for (const auto& report : registered<KindReport>())
    if (report->kind == Pieces::name) report->text(doc, results);
  return to_text(doc, {.width = width});
}

bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a row for each number and size: times, the fastest, and by how much") {
  const std::string all = text(made());
  CAPTURE(all);
  CHECK(has(all, "pieces cuda:0 (Test GPU): d2h"));
  CHECK(has(all, "scattered on the device to contiguous on the host"));
  CHECK(has(all, "cannot tell"));
  CHECK(has(all, "2.00 (1.90..2.10)"));
  // 8 pieces of 4096 bytes in 25 us.
  CHECK(has(all, "1.31"));
  CHECK(has(all, "! 8 x 8 KiB: loop: the pieces were wrong"));
  CHECK(has(all, "cannot tell to 1 KiB; kernel from 4 KiB"));
  CHECK_FALSE(has(all, "SIMULATED"));
}

TEST_CASE("ways that cannot be told apart are named together, where others can") {
  PieceTable table = made();
  table.rows[0].ways.push_back(way(PieceWay::batch, 30, 0.5, 0.4, 0.6));
  const std::string all = text(table);
  CHECK(has(all, "loop/kernel  "));
  CHECK(has(all, "1.50 (1.40..1.60)"));
}

TEST_CASE("a table of one size, of a case that stopped, and of one that never ran") {
  PieceTable table = made();
  table.rows.resize(1);
  table.simulated = true;
  table.error = "the device was lost";
  table.question.async = true;
  const std::string all = text(table);
  CHECK(has(all, "SIMULATED pieces"));
  CHECK(has(all, "STOPPED"));
  CHECK(has(all, "copies follow each other"));
  CHECK(has(all, "cannot tell at 1 KiB"));
  table.rows.clear();
  CHECK(has(text(table), "NOT RUN"));
}

TEST_CASE("an advice names the fastest way, and what the others take") {
  const PieceTable table = made();
  PieceAdvice advice{
      100, 3000, {way(PieceWay::kernel, 40, 0, 0, 0), way(PieceWay::loop, 50, 0.25, 0.2, 0.3)}, {"a note"}};
  std::ostringstream out;
  piece_advice_text(out, {{&table, advice}}, {.width = 100});
  const std::string all = out.str();
  CAPTURE(all);
  CHECK(has(all, "100 x 3000 B"));
  CHECK(has(all, "fastest   kernel\n"));
  CHECK(has(all, "1.25 (1.20..1.30)"));
  CHECK(has(all, "7.500"));  // 300,000 bytes in 40 us
  CHECK(has(all, "a note"));
  std::ostringstream json;
  piece_advice_json(json, {{&table, advice}});
  CHECK(has(json.str(), "\"document\": \"npgpu-piece-advice\""));
  CHECK(has(json.str(), "\"way\": \"kernel\""));
}

}  // namespace pieces_report

}  // namespace job_report_test
