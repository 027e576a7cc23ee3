#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/made_jobs.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace csv_test {

using namespace npgpu;

namespace {

std::string csv(const Trace& trace, const CsvTable& table = {}) {
  std::ostringstream out;
  export_csv(out, trace, table);
  return out.str();
}

// The rows of a table whose quoted fields hold commas only, by the names of their columns.
std::vector<std::map<std::string, std::string>> rows(const std::string& table) {
  std::istringstream lines(table);
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line + ',');
    std::vector<std::string> row;
    for (std::string cell, more; std::getline(cells, cell, ',');) {
      while (cell.starts_with('"') && !cell.ends_with('"') && std::getline(cells, more, ',')) cell += ',' + more;
      row.push_back(cell.starts_with('"') ? cell.substr(1, cell.size() - 2) : cell);
    }
    if (names.empty()) {
      names = row;
      continue;
    }
    REQUIRE(row.size() == names.size());
    auto& fields = all.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(fields.emplace(names[i], row[i]).second);
  }
  return all;
}

std::string refusal(const Trace& trace, const CsvTable& table) {
  try {
    csv(trace, table);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a header row, then a row for each sample, exactly as it came") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of(Pattern::pingpong));
  trace.of<Transfers>()[0].device_name = "GPU, \"fast\"\nmodel";
  add_point(trace.of<Transfers>()[0], 1024, {0.1, NAN}, 7);
  trace.of<Transfers>()[0].visits[0].stop = Stop::not_converged;
  trace.of<Transfers>()[0].samples[1].intact = 1;
  const std::string front =
      "0,cudaMemcpy,host,cuda:0,pingpong,h2d,pinned,0,host,warm,copy-engine,write,0,0,1,-1,0,nobody,,\"GPU, "
      "\"\"fast\"\"\\x0amodel\",0,"
      "1024,0,,0,not-converged,0,,0,,,,,,0,";
  CHECK(csv(trace) ==
        "series,module,source,target,pattern,direction,memory,async,timing,cache,executor,access,source_offset_bytes,"
        "target_offset_bytes,bind,host_node,chunk_bytes,beside,more_lanes,device_name,simulated,bytes,round,work,void_"
        "trials,"
        "stop,wall_"
        "us,at_s,"
        "disturbed,disturber,sm_clock_mhz,memory_clock_mhz,power_w,temperature_c,throttle_reasons,visit,"
        "trial,lane,"
        "intact,repeats,host_us,device_us\n" +
            front + "0,0,0,-1,7,0.1,\n" + front + "0,1,0,1,7,,\n");
}

TEST_CASE("numbers read back as they were, whatever their digits") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of());
  add_point(trace.of<Transfers>()[0], 1, {0.1 + 0.2});
  CHECK(has(csv(trace), ",0.30000000000000004,"));
}

TEST_CASE("a sample without its visit leaves those fields empty, for every kind") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of());
  add_point(trace.of<Transfers>()[0], 1, {1});
  trace.of<Transfers>()[0].samples[0].visit = 9;
  trace.of<Jobs>().push_back(jobs_of());
  add_job(trace.of<Jobs>()[0], {.bytes_in = 4}, {1});
  trace.of<Jobs>()[0].samples[0].visit = 9;
  for (const char* kind : {"transfers", "jobs"}) {
    const auto row = rows(csv(trace, {kind, CsvRows::samples})).at(0);
    CHECK(row.at("visit") == "9");
    CHECK(row.at("stop").empty());
    CHECK(row.at("host_us") == "1");
  }
}

TEST_CASE("a summary names the case as the screen does, without its device") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of(Pattern::stream));
  add_point(trace.of<Transfers>()[0], 1024, {1});
  trace.of<Probes>() = {probe_sweep()};
  add_point(trace.of<Probes>()[0], {.blocks = 2, .threads = 64}, 500, {4});
  CHECK(rows(csv(trace, {"transfers", CsvRows::summary})).at(0).at("case_name") == "H2D pinned, blocking");
  CHECK(rows(csv(trace, {"probes", CsvRows::summary})).at(0).at("case_name") == "compute fma fp32");
  trace.of<Transfers>()[0].question.module = "cuMemcpy";
  trace.of<Transfers>()[0].question.pattern = Pattern::flag;
  CHECK(rows(csv(trace, {"transfers", CsvRows::summary})).at(0).at("case_name") ==
        "cuMemcpy: H2D pinned, blocking, flag");
}

TEST_CASE("each of comma, semicolon and quote alone is quoted; what ends a line is escaped; nothing else is") {
  for (const auto& [name, quoted] : {std::pair{"a,b", "\"a,b\""},
                                     {"a\"b", "\"a\"\"b\""},
                                     {"a\nb", "a\\x0ab"},
                                     {"a\rb", "a\\x0db"},
                                     {"a;b", "\"a;b\""},
                                     {"a b'", "a b'"},
                                     {"", ""}}) {
    Trace trace;
    trace.of<Transfers>().push_back(sweep_of());
    trace.of<Transfers>()[0].device_name = name;
    add_point(trace.of<Transfers>()[0], 1, {1});
    CHECK(has(csv(trace), std::string(",1,-1,0,nobody,,") + quoted + ",0,1,"));
  }
}

TEST_CASE("probes and jobs have their own tables, with words for all codes") {
  Trace trace;
  trace.of<Probes>() = {probe_sweep(), probe_sweep()};
  add_point(trace.of<Probes>()[1], {.blocks = 2, .threads = 64, .one_block_per_sm = 1}, 500, {4, 4, 4});
  const auto probe = rows(csv(trace, {"probes", CsvRows::samples})).at(2);
  for (const auto& [column, value] : std::map<std::string, std::string>{{"series", "1"},
                                                                        {"probe", "compute"},
                                                                        {"operation", "fma"},
                                                                        {"type", "fp32"},
                                                                        {"form", "streaming"},
                                                                        {"blocks", "2"},
                                                                        {"threads", "64"},
                                                                        {"one_block_per_sm", "1"},
                                                                        {"work", "500"},
                                                                        {"stop", "converged"},
                                                                        {"trial", "2"},
                                                                        {"device_us", "40"}}) {
    CAPTURE(column);
    CHECK(probe.at(column) == value);
  }
  trace.of<Jobs>().push_back(jobs_of());
  trace.of<Jobs>()[0].question.gating = Gating::last_stream_free;
  add_job(trace.of<Jobs>()[0], {.bytes_in = 60 * MiB, .iterations = 64}, {3000.25});
  const auto job = rows(csv(trace, {"jobs", CsvRows::samples})).at(0);
  for (const auto& [column, value] : std::map<std::string, std::string>{{"device", "cuda:0"},
                                                                        {"workload", "increment"},
                                                                        {"gating", "last-stream-free"},
                                                                        {"bytes_in", "62914560"},
                                                                        {"iterations", "64"},
                                                                        {"host_us", "3000.25"},
                                                                        {"issue_us", "0.5"},
                                                                        {"create_us", ""}}) {
    CAPTURE(column);
    CHECK(job.at(column) == value);
  }
}

TEST_CASE("a table without rows is refused, and the sentence names the kinds that have some") {
  Trace probes_only;
  probes_only.of<Probes>().push_back(probe_sweep());
  add_point(probes_only.of<Probes>()[0], {}, 1, {1});
  CHECK(has(refusal(probes_only, {}), "no samples of this kind; it has those of probes"));
  CHECK(has(refusal(probes_only, {"jobs", CsvRows::summary}), "no points of this kind"));
  CHECK(has(refusal(Trace{}, {}), "none of any"));
  CHECK(has(refusal(probes_only, {"streams", CsvRows::samples}), "'streams' is none of transfers, probes, jobs"));
}

TEST_CASE("a tidy table has a row for each point: clock, round trips and lanes are already taken care of") {
  Trace trace;
  trace.of<Transfers>() = {sweep_of(Pattern::pingpong), sweep_of(Pattern::duplex, Timing::gated)};
  add_point(trace.of<Transfers>()[0], 1000, {4, 4, 4, 4, 4, 4, 8}, 1);
  add_duplex(trace.of<Transfers>()[1], 1000, {1, 1, 1}, {2, 2, 2});
  const auto all = rows(csv(trace, {"transfers", CsvRows::summary}));
  REQUIRE(all.size() == 3);
  CHECK(all[0].at("bytes") == "1000");
  CHECK(all[0].at("trials") == "7");
  CHECK(all[0].at("time_us") == "2");  // half of a round trip
  CHECK(all[0].at("time_low_us") == "2");
  // Of seven, 11/15 of the way from the least and the greatest to their neighbours.
  CHECK(std::stod(all[0].at("time_high_us")) == doctest::Approx(4 - 2 * 11.0 / 15));
  CHECK(all[0].at("value") == "500000000");
  CHECK(std::stod(all[0].at("low")) == doctest::Approx(1000 / (4 - 2 * 11.0 / 15) * 1e6));
  CHECK(all[0].at("high") == "500000000");
  CHECK(all[0].at("unit") == "B/s");
  CHECK(all[0].at("counts") == "payload bytes");
  CHECK(all[1].at("lane") == "0");
  CHECK(all[1].at("time_us") == "1");
  CHECK(all[2].at("lane") == "1");
  CHECK(all[2].at("time_us") == "2");
  CHECK(all[2].at("trials") == "3");
  CHECK(all[2].at("time_low_us").empty());  // three trials have no interval
  trace.of<Probes>().push_back(probe_sweep());
  add_point(trace.of<Probes>()[0], {.blocks = 1, .threads = 32}, 1000, std::vector<double>(9, 2.0));
  const auto probe = rows(csv(trace, {"probes", CsvRows::summary})).at(0);
  CHECK(probe.at("value") == "500000000");
  CHECK(probe.at("unit") == "FLOP/s");
  CHECK(probe.at("kind") == "probes");
  CHECK(probe.at("stop") == "converged");
}

TEST_CASE("a point whose payload was wrong has no time in the tidy table, but the reason") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of());
  add_point(trace.of<Transfers>()[0], 1000, {4});
  trace.of<Transfers>()[0].samples[0].intact = 0;
  const auto row = rows(csv(trace, {"transfers", CsvRows::summary})).at(0);
  CHECK(row.at("time_us").empty());
  CHECK(row.at("value").empty());
  CHECK(has(row.at("unusable"), "wrong"));
}

TEST_CASE("a disturbed visit is no part of its point; a point that rests on such names the causes") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of());
  TransferSeries& sweep = trace.of<Transfers>()[0];
  for (const double us : {10.0, 30.0, 12.0}) add_point(sweep, 1000, {us, us});
  disturb(sweep.visits[1], Cause::host_busy, "python3 (4711)");
  auto all = rows(csv(trace, {"transfers", CsvRows::summary}));
  REQUIRE(all.size() == 1);
  CHECK(all[0].at("visits") == "3");
  CHECK(all[0].at("visits_counted") == "2");
  CHECK(all[0].at("trials") == "4");
  CHECK(all[0].at("disturbed").empty());
  CHECK(all[0].at("time_us") == "11");
  CHECK(all[0].at("max_us") == "12");
  for (const std::size_t i : {0U, 2U}) disturb(sweep.visits[i], Cause::host_busy);
  all = rows(csv(trace, {"transfers", CsvRows::summary}));
  CHECK(all[0].at("trials") == "6");
  CHECK(all[0].at("disturbed") == "host-busy");
  CHECK(all[0].at("disturbed_by") == "python3 (4711)");
  CHECK(all[0].at("time_us") == "12");
  disturb(sweep.visits[0], Cause::device_busy);
  all = rows(csv(trace, {"transfers", CsvRows::summary}));
  CHECK(all[0].at("disturbed") == "host-busy;device-busy");
  // Each visit's own, by number and name, is with its samples.
  const auto samples = rows(csv(trace, {"transfers", CsvRows::samples}));
  REQUIRE(samples.size() == 6);
  CHECK(samples[2].at("visit") == "1");
  CHECK(samples[2].at("round") == "1");
  CHECK(samples[2].at("disturbed") == "1");
  CHECK(samples[2].at("disturber") == "python3 (4711)");
  CHECK(samples[0].at("disturbed") == std::to_string(sweep.visits[0].disturbed));
  CHECK(samples[0].at("disturber").empty());
}

TEST_CASE("a row says which run it is of, on which device, at which clocks: the median of the visits that count") {
  Trace trace;
  trace.root.run_uuid = "uuid";
  trace.root.hostname = "node7";
  trace.root.start_time_utc = "2026-11-21T06:19:25Z";
  trace.of<Transfers>().push_back(sweep_of());
  TransferSeries& sweep = trace.of<Transfers>()[0];
  sweep.device_uuid = "GPU-1";
  sweep.device_name = "Test GPU";
  for (const double us : {10.0, 30.0, 12.0, 14.0}) add_point(sweep, 1000, {us, us});
  for (std::size_t i = 0; i < 4; ++i) sweep.visits[i].telemetry.sm_clock_mhz = 1000.0 + 100 * static_cast<double>(i);
  sweep.visits[3].telemetry.memory_clock_mhz = 3000;
  disturb(sweep.visits[1], Cause::host_busy);
  const auto row = rows(csv(trace, {"transfers", CsvRows::summary})).at(0);
  CHECK(row.at("run_uuid") == "uuid");
  CHECK(row.at("host") == "node7");
  CHECK(row.at("date") == "2026-11-21T06:19:25Z");
  CHECK(row.at("kind") == "transfers");
  CHECK(row.at("device_uuid") == "GPU-1");
  CHECK(row.at("device_name") == "Test GPU");
  CHECK(row.at("sm_clock_mhz") == "1200");  // of 1000, 1200 and 1300
  CHECK(row.at("memory_clock_mhz") == "3000");
  CHECK(row.at("power_w").empty());
}

TEST_CASE("what a value counts: a chase its loads' time, a call its work, a job itself") {
  Trace trace;
  ProbeSeries chase = probe_sweep();
  chase.question.probe = "latency";
  chase.question.operation = Operation::chase;
  add_point(chase, {.blocks = 1, .threads = 1}, 1000, {280, 290, 295, 300, 300, 300, 310, 320, 330});  // 1000 loads
  trace.of<Probes>().push_back(chase);
  const auto load = rows(csv(trace, {"probes", CsvRows::summary})).at(0);
  CHECK(load.at("value") == "300");
  // Of nine, 49/215 of the way from the second to the third, from either side.
  CHECK(std::stod(load.at("low")) == doctest::Approx(290 + 5 * 49.0 / 215));
  CHECK(std::stod(load.at("high")) == doctest::Approx(320 - 10 * 49.0 / 215));
  CHECK(load.at("unit") == "ns");
  CHECK(load.at("counts") == "time of a load");
  trace.of<Jobs>().push_back(jobs_of());
  add_job(trace.of<Jobs>()[0], {.bytes_in = 4}, {7});
  const auto job = rows(csv(trace, {"jobs", CsvRows::summary})).at(0);
  CHECK(job.at("value") == "7");
  CHECK(job.at("unit") == "us");
  CHECK(job.at("counts") == "time of a job");
  CHECK(job.at("chunks") == "1");
}

}  // namespace csv_test
