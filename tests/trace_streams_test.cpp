// Jobs in streams in a trace: beside sweeps and probes, with the same guarantees.
#include <doctest/doctest.h>

#include "netpipe/trace/attributes.hpp"
#include "trace_kind.hpp"

using namespace npgpu;

namespace {

struct Streams {
  using TransferSeries = JobSeries;
  using TransferPoint = JobPoint;
  using TransferSample = JobSample;
  using Shape = JobShape;

  static JobSeries header(const std::string& schedule) {
    JobSeries streams;
    streams.question = {"cuda:1", Workload::memory, Order::independent, StreamPool::fresh, Gating::last_stream_free};
    return with_what_all_headers_have(streams, schedule);
  }
  static JobShape shape(std::uint32_t k) {
    return {.bytes_in = 5 * GiB,
            .bytes_out = 3 * GiB,
            .kernel_bytes = 6 * GiB,
            .iterations = 17,
            .chunks = k,
            .streams = k + 1,
            .threads = 256};
  }
  static JobPoint point(std::uint32_t k) {
    JobPoint point;
    point.axes = shape(k);
    return with_what_all_points_have(point);
  }
  static std::vector<JobSample> samples(std::uint32_t count) {
    std::vector<JobSample> samples(count);
    for (std::uint32_t i = 0; i < count; ++i)
      samples[i] = {77, i, i == 0 ? 0 : 1, 900u + i, 10.5, 2.25, 1.5, 1.25, 8.75};
    return samples;
  }
  static JobShape shape_of(const JobPoint& point) { return point.axes; }
  static const std::vector<JobSeries>& sweeps(const Trace& trace) { return trace.of<Jobs>(); }

  static std::size_t begin(TraceWriter& writer, const JobSeries& header) { return writer.begin_streams(header); }
  static bool has(const TraceWriter& writer, std::size_t i, const JobShape& job) { return writer.has_job(i, job); }
  static void add(TraceWriter& writer, std::size_t i, const JobPoint& point,
                  std::span<const JobSample> samples) {
    writer.add_job(i, point, samples);
  }
  static void set_error(TraceWriter& writer, std::size_t i, const std::string& why) {
    writer.set_streams_error(i, why);
  }
};

}  // namespace

TEST_CASE("every field of jobs in streams, none at its default") { after_round_trip<Streams>(); }

TEST_CASE("every word of every enumeration of jobs in streams") {
  std::vector<JobCase> asked;
  const auto ask = [&](auto word, auto member) {
    JobCase c{.device = "cuda:0"};
    c.*member = word;
    asked.push_back(c);
  };
  for (std::size_t i = 0; i < names_of<Workload>.size(); ++i) ask(static_cast<Workload>(i), &JobCase::workload);
  for (std::size_t i = 0; i < names_of<Order>.size(); ++i) ask(static_cast<Order>(i), &JobCase::order);
  for (std::size_t i = 0; i < names_of<StreamPool>.size(); ++i) ask(static_cast<StreamPool>(i), &JobCase::pool);
  for (std::size_t i = 0; i < names_of<Gating>.size(); ++i) ask(static_cast<Gating>(i), &JobCase::gated);
  check_questions<Streams>(asked);
}

TEST_CASE("a resumed trace goes on in its jobs") { check_resume<Streams>(); }

TEST_CASE("a resumed trace tells the jobs that it has") {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"), {});
    writer.add_job(writer.begin_streams(Streams::header("adaptive")), Streams::point(1), Streams::samples(2));
    writer.checkpoint();
  }
  TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
  const std::size_t streams = writer.begin_streams(Streams::header("adaptive"));
  CHECK(writer.jobs(streams) == std::vector{Streams::shape(1)});
  JobShape other = Streams::shape(1);
  other.iterations = 18;
  CHECK_FALSE(writer.has_job(streams, other));
  writer.add_job(streams, Streams::point(2), Streams::samples(1));
  CHECK(writer.jobs(streams) == std::vector{Streams::shape(1), Streams::shape(2)});
}

TEST_CASE("a trace of version 1.0, which had no jobs, is read and continued") { check_older_trace<Streams>(); }

TEST_CASE("a job that every reader would refuse is not taken, and the rest is kept") {
  const auto nothing = [](JobPoint& p, JobSample&) {
    p.axes.bytes_in = p.axes.bytes_out = p.axes.kernel_bytes = 0;
  };
  check_refused<Streams>({{[](JobPoint& p, JobSample&) { p.axes.chunks = 0; }, "0 chunks"},
                          {[](JobPoint& p, JobSample&) { p.axes.streams = 0; }, "0 streams"},
                          {[](JobPoint& p, JobSample&) { p.axes.threads = 0; }, "0 threads"},
                          {nothing, "0 bytes"},
                          {[](JobPoint&, JobSample& s) { s.intact = 2; }, "intact code 2"}},
                         "case of streams 5");
}

TEST_CASE("damaged jobs are named") {
  const auto in = [](hid_t file) { return trace::made(H5Gopen2(file, "streams/0000", H5P_DEFAULT), "open it"); };
  const auto spoiled = said_of_damage<Streams>;
  CHECK(spoiled([&](hid_t file) {
          trace::change(in(file), "workload", std::string("gemm"));
        }).find("'workload' of /streams/0000 is 'gemm'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) { H5Adelete(in(file), "gated"); }).find("'gated'") != std::string::npos);
  CHECK(spoiled([&](hid_t file) {
          const auto streams = in(file);
          H5Adelete(streams, "gated");
          trace::put_code(streams, "gated", 3);
        }).find("'gated' of /streams/0000 is 3, none of 0 to 2") != std::string::npos);
  CHECK(spoiled([&](hid_t file) {
          H5Ldelete(file, "streams/0000/points", H5P_DEFAULT);
        }).find("/streams/0000/points") != std::string::npos);
}
