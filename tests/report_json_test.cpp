#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report.hpp"
#include "tests/made_sweep.hpp"

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

template <class Write>
json parsed(Write write) {
  std::ostringstream out;
  write(out);
  return json::parse(out.str());
}

json report(const Trace& trace) {
  return parsed([&](std::ostream& out) { report_json(out, trace); });
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
  CHECK(keys(j) == std::vector<std::string>{"derived", "document", "probes", "provenance", "run",
                                              "streams", "sweeps", "version"});
  CHECK(keys(j["run"]) == std::vector<std::string>{"argv", "complete", "git_commit", "hostname", "run_uuid",
                                                   "start_time_utc", "tool_version"});
  const json& s = j["sweeps"][0];
  CHECK(keys(s) == std::vector<std::string>{"binding", "case", "device_name", "device_uuid", "error", "lanes",
                                            "limit_bytes_per_s", "limit_source", "schedule", "simulated", "title",
                                            "together"});
  CHECK(keys(s["case"]) == std::vector<std::string>{"async", "bind", "cache", "device", "direction", "memory", "module",
                                                    "pattern", "source_offset_bytes", "target_offset_bytes", "timing"});
  const json& lane = s["lanes"][0];
  CHECK(keys(lane) == std::vector<std::string>{"curve", "lane", "name", "points"});
  CHECK(keys(lane["curve"]) == std::vector<std::string>{"best_bytes", "best_rate_bytes_per_s", "fit_latency_us",
                                                        "fit_rate_bytes_per_s", "fit_worst_residual", "half_rate_bytes",
                                                        "knee_bytes", "notes", "smallest_sizes_us"});
  CHECK(keys(lane["points"][0]) == std::vector<std::string>{"bytes", "lane", "min_us", "mean_us", "max_us",
                                                            "percent_of_limit", "rate_bytes_per_s", "stop", "time_us",
                                                            "trials"});
  CHECK(keys(lane["points"][0]["time_us"]) == std::vector<std::string>{"high", "low", "method", "value"});
}

TEST_CASE("numbers arrive as they are, and what is not known is null") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {2, 2, 2, 2, 2, 2, 4});
  add_point(sweep, 2000, {NAN});
  const json j = report(trace_of(sweep));
  CHECK(j["document"] == "npgpu-report");
  CHECK(j["version"] == 1);
  CHECK(j["run"]["complete"] == true);
  CHECK(j["provenance"]["host"] == json{{"cores", 4}, {"load", 0.5}, {"cpu_model", "CPU"}});
  const json& s = j["sweeps"][0];
  CHECK(s["title"] == "cudaMemcpy cuda:0 h2d pinned stream blocking host");
  CHECK(s["limit_bytes_per_s"].is_null());
  CHECK(s["error"].is_null());
  CHECK(s["together"].is_null());
  const json& lane = s["lanes"][0];
  CHECK(lane["name"] == "h2d");
  CHECK(lane["curve"]["best_rate_bytes_per_s"] == 500e6);
  CHECK(lane["curve"]["knee_bytes"].is_null());
  const json& p = lane["points"][0];
  CHECK(p["time_us"]["value"] == 2);
  CHECK(p["time_us"]["high"] == 4);
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
  const json s = report(trace_of(sweep))["sweeps"][0];
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
  sweep.points[0].stop = Stop::converged;
  sweep.points[0].telemetry.throttle_reasons = 4;
  sweep.samples[1].intact = 1;
  const json j = exported(trace_of(sweep));
  CHECK(j["document"] == "npgpu-trace");
  CHECK(j["version"] == "1.0");
  const json& s = j["sweeps"][0];
  CHECK(s["points"]["bytes"] == json{1000});
  CHECK(s["points"]["samples"] == json{2});
  CHECK(s["points"]["stop"] == json{"converged"});
  CHECK(s["points"]["throttle_reasons"] == json{4});
  CHECK(s["points"]["power_w"] == json{nullptr});
  CHECK(s["samples"]["trial"] == json{0, 1});
  CHECK(s["samples"]["repeats"] == json{5, 5});
  CHECK(s["samples"]["host_us"] == json{2, nullptr});
  CHECK(s["samples"]["intact"] == json{-1, 1});
  CHECK_FALSE(s.contains("lanes"));
}

TEST_CASE("a text that is no UTF-8 does not stop a document, and one that is arrives whole") {
  TransferSeries sweep = sweep_of();
  sweep.device_name = "bad \xff name";
  sweep.binding = "caf\xc3\xa9";
  const json s = report(trace_of(sweep))["sweeps"][0];
  CHECK(s["device_name"] == "bad \xef\xbf\xbd name");
  CHECK(s["binding"] == "caf\xc3\xa9");
}

TEST_CASE("a trace without sweeps is a document with an empty list") {
  CHECK(report(Trace{})["sweeps"] == json::array());
  CHECK(exported(Trace{})["sweeps"] == json::array());
}
