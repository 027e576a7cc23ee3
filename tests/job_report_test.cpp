// Jobs in streams, told: table, JSON and CSV.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "npgpu/report.hpp"
#include "tests/made_jobs.hpp"

using namespace npgpu;

namespace {

const JobShape unsplit{.bytes_in = 60 * MiB, .bytes_out = MiB, .kernel_bytes = 60 * MiB, .iterations = 64};

Trace made() {
  Trace trace;
  trace.of<Jobs>().push_back(jobs_of());
  add_job(trace.of<Jobs>()[0], unsplit, {3000, 3000, 3000, 3000, 3000, 3000});
  JobShape cut = unsplit;
  cut.chunks = cut.streams = 16;
  add_job(trace.of<Jobs>()[0], cut, {1500, 1500, 1500, 1500, 1500, 1530});
  trace.of<Jobs>()[0].points[1].stop = Stop::not_converged;
  return trace;
}

template <class Export>
std::string text(Export write, const Trace& trace) {
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
  CHECK(job_point_text(made().streams[0]) == "3.000 ms ±0.00 %");
  CHECK(job_point_text(jobs_of()) == "not usable");
}

TEST_CASE("the table: median, interval, speed-up, and what never narrowed") {
  TextStyle wide;
  wide.width = 160;
  const std::string told = text([&](auto& out, const Trace& t) { report_text(out, t, wide); }, made());
  CAPTURE(told);
  CHECK(has(told, "overlap cuda:0 increment breadth-first pooled"));
  CHECK(has(told, "3000 "));
  CHECK(has(told, "+0.0 +2.0 %"));
  CHECK(has(told, " 2.00"));
  CHECK(has(told, "* the interval never narrowed"));
  CHECK_FALSE(has(told, "SIMULATED"));
  CHECK(has(told, "jobs in streams of 1 case"));
  CHECK_FALSE(has(told, "0 sweeps"));
  Trace simulated = made();
  simulated.streams[0].simulated = true;
  simulated.streams[0].error = "lost";
  CHECK(has(text([&](auto& out, const Trace& t) { report_text(out, t, wide); }, simulated), "SIMULATED overlap"));
  CHECK(
      has(text([&](auto& out, const Trace& t) { report_text(out, t, wide); }, simulated), "SIMULATED: no measurement"));
  const std::string line = text([&](auto& out, const Trace& t) { report_overview(out, t, wide); }, simulated);
  CHECK(has(line, "SIMULATED overlap"));
  CHECK(has(line, "16 chunks in 16 streams"));
  CHECK(has(line, "lost"));
}

TEST_CASE("the overview sums up the cases that have no cut to tell of, a device each") {
  Trace trace = made();
  JobSeries parts = jobs_of();
  parts.question.workload = Workload::none;
  add_job(parts, {.bytes_in = 4096}, {1, 1, 1, 1, 1, 1});
  add_job(parts, {.bytes_in = 8192}, {2, 2, 2, 2, 2, 2});
  trace.of<Jobs>().push_back(parts);
  parts.question.gating = Gating::gated;
  for (JobSample& s : parts.samples) s.device_us = s.host_us;
  parts.points[0].stop = Stop::not_converged;
  trace.of<Jobs>().push_back(parts);
  parts.question.order = Order::independent;
  parts.error = "lost";  // has a line of its own
  trace.of<Jobs>().push_back(parts);
  const std::string told = text([](auto& out, const Trace& t) { report_overview(out, t, {}); }, trace);
  CAPTURE(told);
  CHECK(has(told, "overlap cuda:0 increment breadth-first pooled"));
  CHECK_FALSE(has(told, "overlap cuda:0 none breadth-first pooled"));
  CHECK(has(told, "parts of jobs, cuda:0 "));
  CHECK(has(told, " 4 "));
  CHECK(has(told, "1*"));
  CHECK(has(told, "overlap cuda:0 none apart pooled gated"));
}

TEST_CASE("with one stream free the host's time is told, what it is, and a word or code that no other has") {
  Trace trace;
  trace.of<Jobs>().push_back(jobs_of());
  trace.of<Jobs>()[0].question.gating = Gating::last_stream_free;
  add_job(trace.of<Jobs>()[0], {.bytes_in = 256, .chunks = 2, .streams = 2}, {231});
  const std::string told = text([](auto& out, const Trace& t) { report_text(out, t, {}); }, trace);
  CAPTURE(told);
  CHECK(has(told, "overlap cuda:0 increment breadth-first pooled last-stream-free"));
  CHECK(has(told, "231"));
  CHECK(has(told, "while all other"));
  CHECK(has(told, "200 us after"));
  const auto json = nlohmann::json::parse(text([](auto& out, const Trace& t) { report_json(out, t); }, trace));
  CHECK(json["streams"][0]["case"]["gating"] == "last-stream-free");
  CHECK(json["streams"][0]["points"][0]["time_us"]["value"] == 231);
  CHECK(has(text([](auto& out, const Trace& t) { export_streams_csv(out, t); }, trace), ",pooled,2,256,0,"));
}

TEST_CASE("wrong results have no time") {
  Trace trace = made();
  trace.of<Jobs>()[0].samples[11].intact = 0;
  CHECK(has(text([](auto& out, const Trace& t) { report_text(out, t, {}); }, trace), "! no usable trial"));
}

TEST_CASE("JSON: summaries, and everything") {
  const auto report = nlohmann::json::parse(text([](auto& out, const Trace& t) { report_json(out, t); }, made()));
  const auto& point = report["streams"][0]["points"][1];
  CHECK(report["streams"][0]["case"]["workload"] == "increment");
  CHECK(report["streams"][0]["case"]["gating"] == "open");
  CHECK(point["job"]["chunks"] == 16);
  CHECK(point["time_us"]["value"] == 1500);
  CHECK(point["speed_up"] == 2);
  CHECK(point["create_us"].is_null());
  CHECK(point["stop"] == "not-converged");
  const auto all = nlohmann::json::parse(text([](auto& out, const Trace& t) { export_json(out, t); }, made()));
  CHECK(all["streams"][0]["points"]["bytes_in"][0] == 60 * MiB);
  CHECK(all["streams"][0]["samples"]["host_us"].size() == 12);
  CHECK(all["streams"][0]["samples"]["device_us"][0].is_null());
}

TEST_CASE("CSV: a row a sample, exactly as it came") {
  Trace trace;
  trace.of<Jobs>().push_back(jobs_of());
  add_job(trace.of<Jobs>()[0], unsplit, {3000.25});
  trace.of<Jobs>()[0].samples[0].number = 17;
  trace.of<Jobs>()[0].samples[0].intact = 1;
  const std::string csv = text([](auto& out, const Trace& t) { export_streams_csv(out, t); }, trace);
  CHECK(csv.substr(csv.find('\n') + 1) ==
        "0,cuda:0,Test "
        "GPU,0,increment,breadth-first,pooled,0,62914560,1048576,62914560,64,1,1,512,trials,0,0,17,3000.25,0.5,"
        ",,,1\n");
}
