// Jobs in streams: table and JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report.hpp"
#include "npgpu/trace_results.hpp"
#include "tests/made_jobs.hpp"

namespace job_report_test {

using namespace npgpu;

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

}  // namespace job_report_test
