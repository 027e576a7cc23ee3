// Jobs in streams in a trace: beside sweeps and probes, with the same guarantees.
#include <doctest/doctest.h>

#include <cmath>

#include "made_trace.hpp"
#include "netpipe/trace/attributes.hpp"

using namespace npgpu;

namespace {

OverlapSweep streams_of(const std::string& schedule = "adaptive") {
  OverlapSweep streams;
  streams.question = {"cuda:1", Workload::memory, IssueOrder::apart, StreamPool::fresh, true};
  streams.schedule = schedule;
  streams.device_uuid = "GPU-1";
  streams.device_name = "Test GPU";
  streams.simulated = true;
  streams.binding = "none";
  return streams;
}

JobShape job_of(std::uint32_t chunks) {
  return {.bytes_in = 5 * GiB,
          .bytes_out = 3 * GiB,
          .kernel_bytes = 6 * GiB,
          .iterations = 17,
          .chunks = chunks,
          .streams = chunks + 1,
          .threads = 256};
}

OverlapPoint job_point(std::uint32_t chunks) {
  OverlapPoint point;
  point.job = job_of(chunks);
  point.stop = Stop::never;
  point.wall_us = 99.5;
  point.telemetry = {1980.5, 2619, 412.5, 61, 0x24};
  return point;
}

std::vector<OverlapSample> job_samples(std::uint32_t count) {
  std::vector<OverlapSample> samples(count);
  for (std::uint32_t i = 0; i < count; ++i) samples[i] = {77, i, i == 0 ? 0 : 1, 900u + i, 10.5, 2.25, 1.5, 1.25, 8.75};
  return samples;
}

}  // namespace

TEST_CASE("every field of jobs in streams, none at its default") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t sweep = writer.begin_sweep(header_of());
    const std::size_t streams = writer.begin_streams(streams_of());
    CHECK(streams == 0);  // numbered by themselves
    writer.add_job(streams, job_point(1), job_samples(2));
    add(writer, sweep, 8);
    writer.add_job(streams, job_point(16), job_samples(3));
    CHECK(writer.has_job(streams, job_of(16)));
    JobShape other = job_of(16);
    other.iterations = 18;
    CHECK_FALSE(writer.has_job(streams, other));
    CHECK(writer.jobs(streams).size() == 2);
    writer.set_streams_error(streams, "lost halfway");
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.version_minor == 2);
  CHECK(trace.sweeps.at(0).points.size() == 1);
  CHECK(trace.sweeps[0].error.empty());
  CHECK(trace.probes.empty());
  REQUIRE(trace.streams.size() == 1);
  const OverlapSweep& got = trace.streams[0];
  CHECK(got.question == streams_of().question);
  CHECK(got.schedule == "adaptive");
  CHECK(got.device_uuid == "GPU-1");
  CHECK(got.device_name == "Test GPU");
  CHECK(got.simulated);
  CHECK(got.binding == "none");
  CHECK(got.error == "lost halfway");
  REQUIRE(got.points.size() == 2);
  REQUIRE(got.samples.size() == 5);
  const OverlapPoint& point = got.points[1];
  CHECK(point.job == job_of(16));
  CHECK(point.first_sample == 2);
  CHECK(point.samples == 3);
  CHECK(point.stop == Stop::never);
  CHECK(point.wall_us == 99.5);
  CHECK(point.telemetry.sm_clock_mhz == 1980.5);
  CHECK(point.telemetry.memory_clock_mhz == 2619);
  CHECK(point.telemetry.power_w == 412.5);
  CHECK(point.telemetry.temperature_c == 61);
  CHECK(point.telemetry.throttle_reasons == 0x24);
  CHECK(got.samples[2] == OverlapSample{1, 0, 0, 900, 10.5, 2.25, 1.5, 1.25, 8.75});
}

TEST_CASE("every word of every enumeration of jobs in streams") {
  const ScratchFolder folder;
  std::vector<OverlapCase> asked;
  const auto ask = [&](auto word, auto member) {
    OverlapCase c{.device = "cuda:0"};
    c.*member = word;
    asked.push_back(c);
  };
  for (std::size_t i = 0; i < names_of<Workload>.size(); ++i) ask(static_cast<Workload>(i), &OverlapCase::workload);
  for (std::size_t i = 0; i < names_of<IssueOrder>.size(); ++i) ask(static_cast<IssueOrder>(i), &OverlapCase::order);
  for (std::size_t i = 0; i < names_of<StreamPool>.size(); ++i) ask(static_cast<StreamPool>(i), &OverlapCase::pool);
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    for (const OverlapCase& c : asked) {
      OverlapSweep streams;
      streams.question = c;
      writer.begin_streams(streams);
    }
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.streams.size() == asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) CHECK(trace.streams[i].question == asked[i]);
}

TEST_CASE("a resumed trace goes on in its jobs") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"), {});
    const std::size_t streams = writer.begin_streams(streams_of());
    writer.add_job(streams, job_point(1), job_samples(2));
    writer.set_streams_error(streams, "stopped");
    writer.checkpoint();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    CHECK(writer.begin_streams(streams_of("classic")) == 1);  // another question
    const std::size_t streams = writer.begin_streams(streams_of());
    CHECK(streams == 0);
    CHECK(writer.has_job(streams, job_of(1)));
    CHECK(writer.jobs(streams) == std::vector<JobShape>{job_of(1)});
    CHECK_FALSE(writer.has_job(streams, job_of(2)));
    writer.add_job(streams, job_point(2), job_samples(1));
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.streams.size() == 2);
  REQUIRE(trace.streams[0].points.size() == 2);
  CHECK(trace.streams[0].points[1].job == job_of(2));
  CHECK(trace.streams[0].points[1].first_sample == 2);
  CHECK(trace.streams[0].error.empty());
}

TEST_CASE("a trace of version 1.0, which had no jobs, is read and continued") {
  const ScratchFolder folder;
  std::filesystem::copy_file(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200.h5", folder / "t.h5");
  CHECK(read_trace(folder / "t.h5").streams.empty());
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    writer.add_job(writer.begin_streams(streams_of()), job_point(3), job_samples(1));
    writer.finish();
  }
  const Trace after = read_trace(folder / "t.h5");
  CHECK(after.version_minor == 2);
  CHECK(after.sweeps.size() == 19);
  REQUIRE(after.streams.size() == 1);
  CHECK(after.streams[0].points.at(0).job == job_of(3));
}

TEST_CASE("a job that every reader would refuse is not taken, and the rest is kept") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const std::size_t streams = writer.begin_streams(streams_of());
  const auto refused = [&](auto spoil, const std::string& word) {
    OverlapPoint point = job_point(1);
    auto samples = job_samples(1);
    spoil(point, samples[0]);
    CHECK(error_of([&] { writer.add_job(streams, point, samples); }).has(word));
  };
  refused([](OverlapPoint& p, OverlapSample&) { p.job.chunks = 0; }, "0 chunks");
  refused([](OverlapPoint& p, OverlapSample&) { p.job.streams = 0; }, "0 streams");
  refused([](OverlapPoint& p, OverlapSample&) { p.job.threads = 0; }, "0 threads");
  refused([](OverlapPoint& p, OverlapSample&) { p.job.bytes_in = p.job.bytes_out = p.job.kernel_bytes = 0; },
          "0 bytes");
  refused([](OverlapPoint&, OverlapSample& s) { s.intact = 2; }, "intact code 2");
  CHECK(error_of([&] { writer.add_job(5, job_point(1), job_samples(1)); }).has("case of streams 5"));
  CHECK(error_of([&] { writer.set_streams_error(5, "x"); }).has("case of streams 5"));
  writer.add_job(streams, job_point(1), job_samples(1));
  writer.finish();
  CHECK(read_trace(folder / "t.h5").streams.at(0).points.size() == 1);
}

TEST_CASE("damaged jobs are named") {
  const ScratchFolder folder;
  const auto spoiled = [&](const std::function<void(hid_t)>& change) {
    const auto path = folder / "t.h5";
    std::filesystem::remove(path);
    {
      TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
      writer.add_job(writer.begin_streams(streams_of()), job_point(1), job_samples(1));
      writer.finish();
    }
    doctor(path, change);
    return error_of([&] { read_trace(path); }).text;
  };
  const auto in = [](hid_t file) { return trace::made(H5Gopen2(file, "streams/0000", H5P_DEFAULT), "open it"); };
  CHECK(spoiled([&](hid_t file) {
          trace::change(in(file), "workload", std::string("gemm"));
        }).find("'workload' of /streams/0000 is 'gemm'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) { H5Adelete(in(file), "gated"); }).find("'gated'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) {
          H5Ldelete(file, "streams/0000/points", H5P_DEFAULT);
        }).find("/streams/0000/points") != std::string::npos);
}
