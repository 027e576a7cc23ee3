// Probes in a trace: beside the sweeps, with the same guarantees.
#include <doctest/doctest.h>

#include <cmath>

#include "made_trace.hpp"
#include "netpipe/trace/attributes.hpp"

using namespace npgpu;

namespace {

ProbeSweep probe_of(const std::string& schedule = "adaptive") {
  ProbeSweep probe;
  probe.question = {"bandwidth", "cuda:1", Operation::triad, DataType::fp64, Form::dependent, Space::global};
  probe.schedule = schedule;
  probe.device_uuid = "GPU-1";
  probe.device_name = "Test GPU";
  probe.simulated = true;
  probe.layout.units = 132;
  probe.layout.lanes = 32;
  probe.layout.threads_most = 1024;
  probe.layout.blocks_per_unit_most = 31;
  probe.layout.threads_per_unit_most = 2048;
  probe.layout.cache_bytes = 60 * MiB;
  probe.layout.near_cache_bytes = 256 * KiB;
  probe.layout.memory_bytes = 140 * GiB;
  probe.layout.clock_mhz = 1980.5;
  probe.peak = {4.8e12, "by hand"};
  probe.binding = "none";
  return probe;
}

Shape shape_of(std::uint32_t blocks) {
  Shape shape;
  shape.blocks = blocks;
  shape.threads = 64;
  shape.ilp = 4;
  shape.access_bytes = 16;
  shape.bytes = 5 * GiB;
  shape.alone = 1;
  return shape;
}

ProbePoint probe_point(std::uint32_t blocks) {
  ProbePoint point;
  point.shape = shape_of(blocks);
  point.work = 1e9 + blocks;
  point.stop = Stop::never;
  point.wall_us = 99.5;
  point.telemetry = {1980.5, 2619, 412.5, 61, 0x24};
  return point;
}

std::vector<ProbeSample> probe_samples(std::uint32_t count) {
  std::vector<ProbeSample> samples(count);
  for (std::uint32_t i = 0; i < count; ++i) samples[i] = {77, i, i == 0 ? 0 : 1, 1000u + i, 10.5, 9.25, 18000.0, 132, 7};
  return samples;
}

std::vector<std::uint32_t> blocks_of(const ProbeSweep& probe) {
  std::vector<std::uint32_t> all;
  for (const ProbePoint& point : probe.points) all.push_back(point.shape.blocks);
  return all;
}

}  // namespace

TEST_CASE("every field of a probe, none at its default") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t sweep = writer.begin_sweep(header_of());
    const std::size_t probe = writer.begin_probe(probe_of());
    CHECK(probe == 0);  // numbered by themselves
    writer.add_shape(probe, probe_point(1), probe_samples(2));
    add(writer, sweep, 8);
    writer.add_shape(probe, probe_point(264), probe_samples(3));
    CHECK(writer.has_shape(probe, shape_of(264)));
    Shape other = shape_of(264);
    other.alone = 0;
    CHECK_FALSE(writer.has_shape(probe, other));
    writer.set_probe_error(probe, "lost halfway");
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.sweeps.size() == 1);
  CHECK(trace.sweeps[0].points.size() == 1);
  CHECK(trace.sweeps[0].error.empty());
  REQUIRE(trace.probes.size() == 1);
  const ProbeSweep& got = trace.probes[0];
  const ProbeSweep put = probe_of();
  CHECK(got.question == put.question);
  CHECK(got.schedule == put.schedule);
  CHECK(got.device_uuid == put.device_uuid);
  CHECK(got.device_name == put.device_name);
  CHECK(got.simulated);
  CHECK(got.layout.units == 132);
  CHECK(got.layout.lanes == 32);
  CHECK(got.layout.threads_most == 1024);
  CHECK(got.layout.blocks_per_unit_most == 31);
  CHECK(got.layout.threads_per_unit_most == 2048);
  CHECK(got.layout.cache_bytes == 60 * MiB);
  CHECK(got.layout.near_cache_bytes == 256 * KiB);
  CHECK(got.layout.memory_bytes == 140 * GiB);
  CHECK(got.layout.clock_mhz == 1980.5);
  CHECK(got.peak.per_s == 4.8e12);
  CHECK(got.peak.source == "by hand");
  CHECK(got.binding == "none");
  CHECK(got.error == "lost halfway");
  REQUIRE(got.points.size() == 2);
  REQUIRE(got.samples.size() == 5);
  const ProbePoint& point = got.points[1];
  CHECK(point.shape == shape_of(264));
  CHECK(point.work == 1e9 + 264);
  CHECK(point.first_sample == 2);
  CHECK(point.samples == 3);
  CHECK(point.stop == Stop::never);
  CHECK(point.wall_us == 99.5);
  CHECK(point.telemetry.sm_clock_mhz == 1980.5);
  CHECK(point.telemetry.memory_clock_mhz == 2619);
  CHECK(point.telemetry.power_w == 412.5);
  CHECK(point.telemetry.temperature_c == 61);
  CHECK(point.telemetry.throttle_reasons == 0x24);
  CHECK(got.samples[2] == ProbeSample{1, 0, 0, 1000, 10.5, 9.25, 18000.0, 132, 7});
}

TEST_CASE("every word of every enumeration of a probe") {
  const ScratchFolder folder;
  std::vector<ProbeCase> asked;
  const auto ask = [&](auto word, auto member) {
    ProbeCase c{.probe = "compute", .device = "host"};
    c.*member = word;
    asked.push_back(c);
  };
  for (std::size_t i = 0; i < names_of<Operation>.size(); ++i) ask(static_cast<Operation>(i), &ProbeCase::operation);
  for (std::size_t i = 0; i < names_of<DataType>.size(); ++i) ask(static_cast<DataType>(i), &ProbeCase::type);
  for (std::size_t i = 0; i < names_of<Form>.size(); ++i) ask(static_cast<Form>(i), &ProbeCase::form);
  for (std::size_t i = 0; i < names_of<Space>.size(); ++i) ask(static_cast<Space>(i), &ProbeCase::space);
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    for (const ProbeCase& c : asked) {
      ProbeSweep probe;
      probe.question = c;
      writer.begin_probe(probe);
    }
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.probes.size() == asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) CHECK(trace.probes[i].question == asked[i]);
  CHECK(std::isnan(trace.probes[0].peak.per_s));
}

TEST_CASE("a resumed trace goes on in its probe") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"), {});
    const std::size_t probe = writer.begin_probe(probe_of());
    writer.add_shape(probe, probe_point(1), probe_samples(2));
    writer.set_probe_error(probe, "stopped");
    writer.checkpoint();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    CHECK(writer.begin_probe(probe_of("classic")) == 1);  // another question
    const std::size_t probe = writer.begin_probe(probe_of());
    CHECK(probe == 0);
    CHECK(writer.has_shape(probe, shape_of(1)));
    CHECK_FALSE(writer.has_shape(probe, shape_of(2)));
    writer.add_shape(probe, probe_point(2), probe_samples(1));
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(trace.probes.size() == 2);
  CHECK(blocks_of(trace.probes[0]) == std::vector<std::uint32_t>{1, 2});
  CHECK(trace.probes[0].points[1].first_sample == 2);
  CHECK(trace.probes[0].error.empty());
}

TEST_CASE("a trace of version 1.0, which had no probes, is read and continued") {
  const ScratchFolder folder;
  std::filesystem::copy_file(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200.h5", folder / "t.h5");
  const Trace before = read_trace(folder / "t.h5");
  CHECK(before.version_minor == 0);
  CHECK(before.probes.empty());
  REQUIRE(before.sweeps.size() == 19);
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    const std::size_t probe = writer.begin_probe(probe_of());
    writer.add_shape(probe, probe_point(3), probe_samples(1));
    writer.finish();
  }
  const Trace after = read_trace(folder / "t.h5");
  CHECK(after.version_minor == 2);
  CHECK(after.sweeps.size() == 19);
  REQUIRE(after.sweeps[18].samples.size() == before.sweeps[18].samples.size());
  CHECK(after.sweeps[18].samples.back().host_us == before.sweeps[18].samples.back().host_us);
  REQUIRE(after.probes.size() == 1);
  CHECK(blocks_of(after.probes[0]) == std::vector<std::uint32_t>{3});
}

TEST_CASE("a shape that every reader would refuse is not taken, and the rest is kept") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const std::size_t probe = writer.begin_probe(probe_of());
  const auto refused = [&](auto spoil, const std::string& word) {
    ProbePoint point = probe_point(1);
    auto samples = probe_samples(1);
    spoil(point, samples[0]);
    CHECK(error_of([&] { writer.add_shape(probe, point, samples); }).has(word));
  };
  refused([](ProbePoint& p, ProbeSample&) { p.shape.blocks = 0; }, "0 blocks");
  refused([](ProbePoint& p, ProbeSample&) { p.shape.threads = 0; }, "0 threads");
  refused([](ProbePoint& p, ProbeSample&) { p.shape.ilp = 0; }, "ilp 0");
  refused([](ProbePoint& p, ProbeSample&) { p.shape.alone = 2; }, "alone");
  refused([](ProbePoint&, ProbeSample& s) { s.repeats = 0; }, "0 repeats");
  refused([](ProbePoint&, ProbeSample& s) { s.intact = 2; }, "intact code 2");
  CHECK(error_of([&] { writer.add_shape(5, probe_point(1), probe_samples(1)); }).has("probe 5"));
  CHECK(error_of([&] { writer.set_probe_error(5, "x"); }).has("probe 5"));
  writer.add_shape(probe, probe_point(1), probe_samples(1));
  writer.finish();
  CHECK(blocks_of(read_trace(folder / "t.h5").probes.at(0)) == std::vector<std::uint32_t>{1});
}

TEST_CASE("a damaged probe is named") {
  const ScratchFolder folder;
  const auto spoiled = [&](const std::function<void(hid_t)>& change) {
    const auto path = folder / "t.h5";
    std::filesystem::remove(path);
    {
      TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
      writer.add_shape(writer.begin_probe(probe_of()), probe_point(1), probe_samples(1));
      writer.finish();
    }
    doctor(path, change);
    return error_of([&] { read_trace(path); }).text;
  };
  const auto in = [](hid_t file) { return trace::made(H5Gopen2(file, "probes/0000", H5P_DEFAULT), "open it"); };
  CHECK(spoiled([&](hid_t file) { trace::change(in(file), "operation", std::string("fma2")); }).find("'operation' of /probes/0000 is 'fma2'") !=
        std::string::npos);
  CHECK(spoiled([&](hid_t file) { H5Adelete(in(file), "units"); }).find("'units'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) { H5Ldelete(file, "probes/0000/samples", H5P_DEFAULT); }).find("/probes/0000/samples") !=
        std::string::npos);
}
