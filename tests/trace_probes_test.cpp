// Probes in a trace: beside the sweeps, with the same guarantees.
#include <doctest/doctest.h>

#include <cmath>

#include "netpipe/trace/attributes.hpp"
#include "trace_kind.hpp"

using namespace npgpu;

namespace {

struct Probes {
  using TransferSeries = ProbeSeries;
  using TransferPoint = ProbePoint;
  using TransferSample = ProbeSample;
  using Shape = npgpu::Shape;

  static ProbeSeries header(const std::string& schedule) {
    ProbeSeries probe;
    probe.question = {"bandwidth", "cuda:1", Operation::triad, DataType::fp64, Form::dependent, Space::global};
    probe.layout.units = 132;
    probe.layout.lanes = 32;
    probe.layout.max_threads_per_block = 1024;
    probe.layout.max_blocks_per_unit = 31;
    probe.layout.max_threads_per_unit = 2048;
    probe.layout.cache_bytes = 60 * MiB;
    probe.layout.near_cache_bytes = 256 * KiB;
    probe.layout.memory_bytes = 140 * GiB;
    probe.layout.clock_mhz = 1980.5;
    probe.peak = {4.8e12, "by hand"};
    return with_what_all_headers_have(probe, schedule);
  }
  static Shape shape(std::uint32_t k) {
    return {.blocks = k, .threads = 64, .ilp = 4, .access_bytes = 16, .bytes = 5 * GiB, .one_block_per_sm = 1};
  }
  static ProbePoint point(std::uint32_t k) {
    ProbePoint point;
    point.axes = shape(k);
    point.work = 1e9 + k;
    return with_what_all_points_have(point);
  }
  static std::vector<ProbeSample> samples(std::uint32_t count) {
    std::vector<ProbeSample> samples(count);
    for (std::uint32_t i = 0; i < count; ++i)
      samples[i] = {77, i, i == 0 ? 0 : 1, 1000u + i, 10.5, 9.25, 18000.0, 132, 7};
    return samples;
  }
  static Shape shape_of(const ProbePoint& point) { return point.axes; }
  static const std::vector<ProbeSeries>& sweeps(const Trace& trace) { return trace.of<Probes>(); }

  static std::size_t begin(TraceWriter& writer, const ProbeSeries& header) { return writer.begin_probe(header); }
  static bool has(const TraceWriter& writer, std::size_t i, const Shape& shape) { return writer.has_shape(i, shape); }
  static void add(TraceWriter& writer, std::size_t i, const ProbePoint& point, std::span<const ProbeSample> samples) {
    writer.add_shape(i, point, samples);
  }
  static void set_error(TraceWriter& writer, std::size_t i, const std::string& why) { writer.set_probe_error(i, why); }
};

}  // namespace

TEST_CASE("every field of a probe, none at its default") {
  const ProbeSeries got = after_round_trip<Probes>();
  CHECK(got.layout.units == 132);
  CHECK(got.layout.lanes == 32);
  CHECK(got.layout.max_threads_per_block == 1024);
  CHECK(got.layout.max_blocks_per_unit == 31);
  CHECK(got.layout.max_threads_per_unit == 2048);
  CHECK(got.layout.cache_bytes == 60 * MiB);
  CHECK(got.layout.near_cache_bytes == 256 * KiB);
  CHECK(got.layout.memory_bytes == 140 * GiB);
  CHECK(got.layout.clock_mhz == 1980.5);
  CHECK(got.limit.per_s == 4.8e12);
  CHECK(got.limit.source == "by hand");
  CHECK(got.points[1].work == 1e9 + 16);
}

TEST_CASE("every word of every enumeration of a probe") {
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
  check_questions<Probes>(asked);
}

TEST_CASE("a probe without a peak has none when it is read") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    writer.begin_probe({});
    writer.finish();
  }
  CHECK(std::isnan(read_trace(folder / "t.h5").probes.at(0).limit.per_s));
}

TEST_CASE("a resumed trace goes on in its probe") { check_resume<Probes>(); }

TEST_CASE("a trace of version 1.0, which had no probes, is read and continued") { check_older_trace<Probes>(); }

TEST_CASE("a shape that every reader would refuse is not taken, and the rest is kept") {
  check_refused<Probes>({{[](ProbePoint& p, ProbeSample&) { p.axes.blocks = 0; }, "0 blocks"},
                         {[](ProbePoint& p, ProbeSample&) { p.axes.threads = 0; }, "0 threads"},
                         {[](ProbePoint& p, ProbeSample&) { p.axes.ilp = 0; }, "ilp 0"},
                         {[](ProbePoint& p, ProbeSample&) { p.axes.one_block_per_sm = 2; }, "one_block_per_sm"},
                         {[](ProbePoint&, ProbeSample& s) { s.repeats = 0; }, "0 repeats"},
                         {[](ProbePoint&, ProbeSample& s) { s.intact = 2; }, "intact code 2"}},
                        "probe 5");
}

TEST_CASE("a shape is another if only `alone` differs") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const std::size_t probe = writer.begin_probe(Probes::header("adaptive"));
  writer.add_shape(probe, Probes::point(1), Probes::samples(1));
  Shape other = Probes::shape(1);
  other.one_block_per_sm = 0;
  CHECK_FALSE(writer.has_shape(probe, other));
}

TEST_CASE("a damaged probe is named") {
  const auto in = [](hid_t file) { return trace::made(H5Gopen2(file, "probes/0000", H5P_DEFAULT), "open it"); };
  const auto spoiled = said_of_damage<Probes>;
  CHECK(spoiled([&](hid_t file) {
          trace::change(in(file), "operation", std::string("fma2"));
        }).find("'operation' of /probes/0000 is 'fma2'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) { H5Adelete(in(file), "units"); }).find("'units'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) {
          H5Ldelete(file, "probes/0000/samples", H5P_DEFAULT);
        }).find("/probes/0000/samples") != std::string::npos);
}
