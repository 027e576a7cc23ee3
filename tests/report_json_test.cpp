#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "tests/made_jobs.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

namespace report_json_test {

using namespace npgpu;
using nlohmann::json;

namespace {

Trace trace_of(TransferSeries sweep) {
  Trace trace;
  trace.root.hostname = "here";
  trace.root.complete = true;
  trace.provenance = {{"host", {{"cores", std::int64_t{4}}, {"load", 0.5}, {"cpu_model", std::string("CPU")}}}};
  trace.of<Transfers>() = {std::move(sweep)};
  return trace;
}

template <class Write> json parsed(Write write) {
  std::ostringstream out;
  write(out);
  return json::parse(out.str());
}

json report(const Trace& trace) {
  return parsed([&](std::ostream& out) { report_json(out, TraceResults(trace)); });
}
json exported(const Trace& trace) {
  return parsed([&](std::ostream& out) { export_json(out, trace); });
}

std::vector<std::string> keys(const json& object) {
  std::vector<std::string> all;
  for (const auto& item : object.items()) all.push_back(item.key());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("the report's keys are a contract") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {2, 2, 2, 2, 2, 2, 4});
  const json j = report(trace_of(sweep));
  CHECK(keys(j) == std::vector<std::string>{"busy_sibling",
                                            "calls",
                                            "collective_studies",
                                            "collectives",
                                            "derived",
                                            "document",
                                            "drift",
                                            "energies",
                                            "energy_figures",
                                            "jobs",
                                            "key_figures",
                                            "matrix",
                                            "partition_studies",
                                            "partitions",
                                            "piece_tables",
                                            "pieces",
                                            "probes",
                                            "provenance",
                                            "records",
                                            "rooflines",
                                            "run",
                                            "soak_figures",
                                            "soaks",
                                            "staged_messages",
                                            "transfers",
                                            "version"});
  CHECK(keys(j["run"]) == std::vector<std::string>{"argv", "complete", "git_commit", "hostname", "run_uuid",
                                                   "start_time_utc", "tool_version"});
  const json& s = j["transfers"][0];
  CHECK(keys(s) == std::vector<std::string>{"binding", "case", "device_name", "device_uuid", "error", "failed_device",
                                            "failure", "lanes", "limit_per_s", "limit_source", "schedule", "simulated",
                                            "title", "together"});
  CHECK(keys(s["case"]) == std::vector<std::string>{"access", "async", "beside", "bind", "cache", "chunk_bytes",
                                                    "direction", "executor", "host_node", "memory", "module",
                                                    "more_lanes", "pattern", "source", "source_offset_bytes", "target",
                                                    "target_offset_bytes", "timing"});
  const json& lane = s["lanes"][0];
  CHECK(keys(lane) == std::vector<std::string>{"curve", "lane", "name", "points"});
  CHECK(keys(lane["curve"]) == std::vector<std::string>{"best_bytes", "best_rate_bytes_per_s", "fit_latency_us",
                                                        "fit_rate_bytes_per_s", "fit_worst_residual", "half_rate_bytes",
                                                        "knee_bytes", "notes", "smallest_sizes_us"});
  CHECK(keys(lane["points"][0]) == std::vector<std::string>{"bytes", "disturbed", "lane", "max_us", "mean_us", "min_us",
                                                            "percent_of_limit", "perturbed", "rate_bytes_per_s", "stop",
                                                            "time_us", "trials"});
  CHECK(keys(lane["points"][0]["time_us"]) == std::vector<std::string>{"high", "low", "method", "value"});
}

TEST_CASE("numbers arrive as they are, and what is not known is null") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {2, 2, 2, 2, 2, 2, 4});
  add_point(sweep, 2000, {NAN});
  const json j = report(trace_of(sweep));
  CHECK(j["document"] == "npgpu-report");
  CHECK(j["version"] == 3);
  CHECK(j["run"]["complete"] == true);
  CHECK(j["provenance"]["host"] == json{{"cores", 4}, {"load", 0.5}, {"cpu_model", "CPU"}});
  const json& s = j["transfers"][0];
  CHECK(s["title"] == "cudaMemcpy cuda:0 h2d pinned stream blocking host");
  CHECK(s["limit_per_s"].is_null());
  CHECK(s["error"].is_null());
  CHECK(s["together"].is_null());
  const json& lane = s["lanes"][0];
  CHECK(lane["name"] == "h2d");
  CHECK(lane["curve"]["best_rate_bytes_per_s"] == 500e6);
  CHECK(lane["curve"]["knee_bytes"].is_null());
  const json& p = lane["points"][0];
  CHECK(p["time_us"]["value"] == 2);
  // Of seven, 11/15 of the way from the greatest to the next.
  CHECK(p["time_us"]["low"] == 2);
  CHECK(p["time_us"]["high"].get<double>() == doctest::Approx(4 - 2 * 11.0 / 15));
  CHECK(p["rate_bytes_per_s"]["value"] == 500e6);
  CHECK(p["trials"] == 7);
  CHECK(p["stop"] == "trials");
  CHECK(lane["points"][1]["time_us"]["value"].is_null());
  CHECK(lane["points"][1]["min_us"].is_null());
}

TEST_CASE("a duplex has two lanes and what they do together") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  sweep.error = "it stopped";
  add_duplex(sweep, 1000, {1}, {2});
  const json s = report(trace_of(sweep))["transfers"][0];
  REQUIRE(s["lanes"].size() == 2);
  CHECK(s["lanes"][1]["lane"] == 1);
  CHECK(s["lanes"][1]["name"] == "d2h");
  CHECK(s["lanes"][1]["points"].size() == 1);
  CHECK(s["lanes"][1]["points"][0]["time_us"]["value"] == 2);
  CHECK(s["together"]["name"] == "both");
  CHECK(s["together"]["points"][0]["rate_bytes_per_s"]["value"] == 1e9);
  CHECK(s["error"] == "it stopped");
}

TEST_CASE("the export holds every sample and nothing derived") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {2, NAN}, 5);
  sweep.visits[0].stop = Stop::converged;
  sweep.visits[0].telemetry.throttle_reasons = 4;
  sweep.samples[1].intact = 1;
  const json j = exported(trace_of(sweep));
  CHECK(j["document"] == "npgpu-trace");
  CHECK(j["version"] == "3.5");
  const json& s = j["transfers"][0];
  CHECK(s["visits"]["bytes"] == json{1000});
  CHECK(s["visits"]["samples"] == json{2});
  CHECK(s["visits"]["stop"] == json{"converged"});
  CHECK(s["visits"]["throttle_reasons"] == json{4});
  CHECK(s["visits"]["power_w"] == json{nullptr});
  CHECK(s["samples"]["visit"] == json{0, 0});
  CHECK(s["samples"]["trial"] == json{0, 1});
  CHECK(s["samples"]["repeats"] == json{5, 5});
  CHECK(s["samples"]["host_us"] == json{2, nullptr});
  CHECK(s["samples"]["intact"] == json{-1, 1});
  CHECK_FALSE(s.contains("lanes"));
}

TEST_CASE("a point of several visits says what disturbed those that it rests on, and nothing of others") {
  Trace trace = trace_of(sweep_of());
  trace.of<Probes>().push_back(probe_sweep());
  trace.of<Jobs>().push_back(jobs_of());
  for (const double us : {10.0, 30.0, 12.0}) {
    add_point(trace.of<Transfers>()[0], 1000, {us, us});
    add_point(trace.of<Probes>()[0], {.blocks = 1, .threads = 32}, 1000, {us, us});
    add_job(trace.of<Jobs>()[0], {.bytes_in = 1024}, {us, us});
  }
  const auto all_visits = [&](auto act) {
    for (const std::size_t i : {0U, 1U, 2U}) {
      act(i, trace.of<Transfers>()[0].visits[i]);
      act(i, trace.of<Probes>()[0].visits[i]);
      act(i, trace.of<Jobs>()[0].visits[i]);
    }
  };
  const auto points = [&] {
    const json j = report(trace);
    return std::array{j["transfers"][0]["lanes"][0]["points"], j["probes"][0]["points"], j["jobs"][0]["points"]};
  };
  const auto disturbed_in_overview = [&] {
    return parsed([&](std::ostream& out) { report_overview_json(out, overview_of(trace)); })["quality"]["disturbed"];
  };
  all_visits([](std::size_t i, VisitInfo& visit) {
    if (i == 1) disturb(visit, Cause::host_busy, "python3 (4711)");
  });
  for (const json& all : points()) {
    REQUIRE(all.size() == 1);
    CHECK(all[0]["trials"] == 4);
    CHECK(all[0]["disturbed"].is_null());
  }
  CHECK(points()[0][0]["time_us"]["value"] == 11);
  CHECK(points()[2][0]["time_us"]["value"] == 11);
  CHECK(disturbed_in_overview() == 0);
  all_visits([](std::size_t i, VisitInfo& visit) {
    if (i != 1) disturb(visit, Cause::device_busy);
  });
  for (const json& all : points()) {
    CHECK(all[0]["trials"] == 6);
    CHECK(all[0]["disturbed"] ==
          "others used the host's processors, another process used the device; most of all by python3 (4711)");
  }
  CHECK(points()[0][0]["time_us"]["value"] == 12);
  CHECK(disturbed_in_overview() == 3);
  const auto device_busy = static_cast<std::uint32_t>(Cause::device_busy);
  for (const char* kind : {"transfers", "probes", "jobs"}) {
    const json visits = exported(trace)[kind][0]["visits"];
    CHECK(visits["round"] == json{0, 1, 2});
    CHECK(visits["disturbed"] == json{device_busy, 1, device_busy});
    CHECK(visits["disturber"] == json{"", "python3 (4711)", ""});
  }
}

TEST_CASE("a text that is no UTF-8 does not stop a document, and one that is arrives whole") {
  TransferSeries sweep = sweep_of();
  sweep.device_name = "bad \xff name";
  sweep.binding = "caf\xc3\xa9";
  const json s = report(trace_of(sweep))["transfers"][0];
  CHECK(s["device_name"] == "bad \xef\xbf\xbd name");
  CHECK(s["binding"] == "caf\xc3\xa9");
}

TEST_CASE("a trace without series is a document with an empty list") {
  CHECK(report(Trace{})["transfers"] == json::array());
  CHECK(exported(Trace{})["transfers"] == json::array());
}

}  // namespace report_json_test
