#include "npgpu/compare.hpp"

#include <doctest/doctest.h>

#include "tests/made_jobs.hpp"
#include "tests/made_probe.hpp"
#include "tests/made_sweep.hpp"

using namespace npgpu;

namespace {

// Seven trials around `us`: the interval of the median is us -+ width.
std::vector<double> around(double us, double width) {
  return {us - width, us - width, us, us, us, us + width, us + width};
}

Trace trace_of(std::initializer_list<TransferSeries> sweeps) {
  Trace trace;
  trace.of<Transfers>() = sweeps;
  return trace;
}

Trace one_point(double us, double width) {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, around(us, width));
  return trace_of({sweep});
}

Verdict verdict(const Trace& a, const Trace& b, double tolerance = 0.05) {
  const auto points = compare(a, b, tolerance);
  REQUIRE(points.size() == 1);
  return points[0].verdict;
}

}  // namespace

TEST_CASE("beyond the tolerance and with intervals apart: slower, or faster the other way") {
  const Trace a = one_point(100, 1);
  const Trace b = one_point(110, 1);
  CHECK(verdict(a, b) == Verdict::slower);
  CHECK(verdict(b, a) == Verdict::faster);
  const PointComparison p = compare(a, b, 0.05)[0];
  CHECK(p.kind == "transfers");
  CHECK(p.axes == "1000 B");
  CHECK(p.a_us == doctest::Approx(100));
  CHECK(p.b_us == doctest::Approx(110));
  CHECK(p.change == doctest::Approx(0.1));
  CHECK(p.title == "cudaMemcpy cuda:0 h2d pinned stream blocking host");
}

TEST_CASE("within the tolerance is the same, even where the intervals are apart") {
  CHECK(verdict(one_point(100, 0.1), one_point(104, 0.1)) == Verdict::same);
  CHECK(verdict(one_point(104, 0.1), one_point(100, 0.1)) == Verdict::same);
  CHECK(verdict(one_point(100, 0.1), one_point(104, 0.1), 0.03) == Verdict::slower);
}

TEST_CASE("overlapping intervals leave it unclear") {
  CHECK(verdict(one_point(100, 6), one_point(110, 6)) == Verdict::unclear);
  CHECK(verdict(one_point(100, 4), one_point(110, 6)) == Verdict::unclear);  // they touch at 104
}

TEST_CASE("too few trials for an interval: slower where all of them are, else unclear") {
  const auto few = [](std::vector<double> us) {
    TransferSeries series = sweep_of();
    add_point(series, 1000, us);
    return trace_of({series});
  };
  CHECK(verdict(one_point(100, 1), few({10000, 10000, 10000})) == Verdict::slower);
  CHECK(verdict(few({10000, 10000, 10000}), one_point(100, 1)) == Verdict::faster);
  CHECK(verdict(few({100, 101, 102}), few({120, 121, 122})) == Verdict::slower);
  CHECK(verdict(one_point(100, 1), few({104, 110, 111})) == Verdict::unclear);  // within the tolerance of 101
  CHECK(compare(one_point(100, 1), few({104, 110, 111}), 0.05)[0].note ==
        "too few trials for an interval, and the trials overlap");
}

TEST_CASE("wrong results and points without a time are broken, which is a failure, in whichever trace they are") {
  const Trace good = one_point(100, 1);
  Trace wrong = good, timeless = good;
  wrong.of<Transfers>()[0].samples[3].intact = 0;
  for (TransferSample& s : timeless.of<Transfers>()[0].samples) s.host_us = NAN;
  CHECK(verdict(good, wrong) == Verdict::broken);
  CHECK(verdict(wrong, good) == Verdict::broken);
  CHECK(verdict(good, timeless) == Verdict::broken);
  CHECK(verdict({}, wrong) == Verdict::broken);
  CHECK(is_failure(Verdict::broken));
  CHECK(compare(good, wrong, 0.05)[0].note == "B: void: the payload arrived wrong");
  CHECK(compare(timeless, good, 0.05)[0].note == "A: no usable trial");

  ProbeSeries probe = probe_sweep();
  add_point(probe, {.blocks = 4, .threads = 32}, 100, around(10, 0));
  Trace right, bad;
  right.of<Probes>() = {probe};
  probe.samples[0].intact = 0;
  bad.of<Probes>() = {probe};
  CHECK(verdict(right, bad) == Verdict::broken);
}

TEST_CASE("times of zero: equal ones are the same, others have no change to speak of") {
  TransferSeries zero = sweep_of();
  add_point(zero, 1000, std::vector<double>(7, 0.0));
  const Trace z = trace_of({zero});
  CHECK(verdict(z, z) == Verdict::same);
  const auto p = compare(z, one_point(100, 1), 0.05)[0];
  CHECK(p.verdict == Verdict::unclear);
  CHECK(std::isnan(p.change));
}

TEST_CASE("points and sweeps that only one trace has are named as such") {
  TransferSeries a = sweep_of();
  add_point(a, 1000, {1});
  add_point(a, 2000, {1});
  add_point(a, 4000, {NAN});
  TransferSeries b = sweep_of();
  add_point(b, 1000, {1});
  add_point(b, 3000, {1});
  add_point(b, 4000, {1});
  TransferSeries only_b = sweep_of(Pattern::pingpong);
  add_point(only_b, 8, {1});
  const auto points = compare(trace_of({a}), trace_of({b, only_b}), 0.05);
  REQUIRE(points.size() == 5);
  CHECK(points[0].verdict == Verdict::same);
  CHECK(points[1].verdict == Verdict::only_a);
  CHECK(points[1].axes == "2000 B");
  CHECK(std::isnan(points[1].b_us));
  CHECK(points[2].verdict == Verdict::only_b);
  CHECK(points[3].verdict == Verdict::broken);  // NaN in A
  CHECK(points[4].verdict == Verdict::only_b);
  CHECK(points[4].title == "cudaMemcpy cuda:0 h2d pinned pingpong blocking host");
}

TEST_CASE("both lanes of a duplex are compared") {
  TransferSeries a = sweep_of(Pattern::duplex);
  add_duplex(a, 1000, around(100, 1), around(100, 1));
  TransferSeries b = sweep_of(Pattern::duplex);
  add_duplex(b, 1000, around(100, 1), around(200, 1));
  const auto points = compare(trace_of({a}), trace_of({b}), 0.05);
  REQUIRE(points.size() == 2);
  CHECK(points[0].verdict == Verdict::same);
  CHECK(points[1].lane == 1);
  CHECK(points[1].verdict == Verdict::slower);
}

TEST_CASE("devices match by their order within a kind, and bear A's names") {
  const auto on = [](const char* device, double us) {
    TransferSeries sweep = sweep_of();
    sweep.question = case_on("cudaMemcpy", device, device == std::string("host") ? Direction::h2h : Direction::h2d);
    add_point(sweep, 1000, around(us, 1));
    return sweep;
  };
  // B's GPUs have other numbers, and B was not asked about the host.
  const auto points = compare(trace_of({on("host", 5), on("cuda:0", 10), on("cuda:1", 100)}),
                              trace_of({on("cuda:2", 10), on("cuda:5", 200)}), 0.05);
  REQUIRE(points.size() == 3);
  CHECK(points[0].verdict == Verdict::only_a);
  CHECK(points[1].verdict == Verdict::same);
  CHECK(points[1].title.starts_with("cudaMemcpy cuda:0 "));
  CHECK(points[2].verdict == Verdict::slower);
  CHECK(points[2].title.starts_with("cudaMemcpy cuda:1 "));
}

TEST_CASE("a sweep of B alone is named by A's name of its device") {
  TransferSeries a = sweep_of();
  TransferSeries b = sweep_of(Pattern::pingpong);
  b.question.target = "cuda:3";
  add_point(b, 8, {1});
  const auto points = compare(trace_of({a}), trace_of({b}), 0.05);
  REQUIRE(points.size() == 1);
  CHECK(points[0].title.starts_with("cudaMemcpy cuda:0 "));
}

TEST_CASE("a question asked twice is matched by schedule and binding first, and by order at last") {
  const auto asked = [](const char* schedule, bool bind, double us) {
    TransferSeries sweep = sweep_of();
    sweep.schedule = schedule;
    sweep.question.bind = bind;
    add_point(sweep, 1000, around(us, 0.1));
    return sweep;
  };
  const auto points =
      compare(trace_of({asked("classic", true, 10), asked("adaptive", true, 20), asked("classic", false, 30)}),
              trace_of({asked("classic", false, 30), asked("adaptive", true, 20), asked("classic", true, 10)}), 0.05);
  REQUIRE(points.size() == 3);
  for (const auto& p : points) CHECK(p.verdict == Verdict::same);
  // Nothing but order is left: another schedule, and unbound.
  CHECK(verdict(trace_of({asked("classic", true, 10)}), trace_of({asked("adaptive", false, 10)})) == Verdict::same);
}

TEST_CASE("other questions do not match: direction, memory, timing, offsets") {
  const auto count_only = [](auto change) {
    TransferSeries a = sweep_of();
    add_point(a, 8, {1});
    TransferSeries b = a;
    change(b.question);
    for (TransferSample& sample : b.samples) sample.device_us = 1;  // whatever its timing, it was measured
    int only = 0;
    for (const auto& p : compare(trace_of({a}), trace_of({b}), 0.05))
      only += p.verdict == Verdict::only_a || p.verdict == Verdict::only_b;
    return only;
  };
  CHECK(count_only([](TransferCase& c) { c.direction = Direction::d2h; }) == 2);
  CHECK(count_only([](TransferCase& c) { c.memory = Memory::pageable; }) == 2);
  CHECK(count_only([](TransferCase& c) { c.timing = Timing::event; }) == 2);
  CHECK(count_only([](TransferCase& c) { c.source_offset = 1; }) == 2);
  CHECK(count_only([](TransferCase&) {}) == 0);
}

TEST_CASE("empty traces compare to nothing") { CHECK(compare({}, {}, 0.05).empty()); }

TEST_CASE("probes are compared shape by shape, over the work of A's repeat") {
  const auto probed = [](const std::string& device, double work, double us) {
    Trace trace;
    ProbeSeries probe = probe_sweep(device);
    add_point(probe, {.blocks = 4, .threads = 32}, work, around(us, 0));
    add_point(probe, {.blocks = 1, .threads = 32}, work, around(us, 0));
    trace.of<Probes>() = {probe};
    return trace;
  };
  // Twice the work in the time of 2.2: a tenth slower. GPU 1 alone in its trace is the other's GPU 0.
  const auto points = compare(probed("cuda:0", 100, 10), probed("cuda:1", 200, 22), 0.05);
  REQUIRE(points.size() == 2);
  CHECK(points[0].axes == text_of(Shape{.blocks = 1, .threads = 32}));
  CHECK(points[0].title == "compute cuda:0 fma fp32");
  CHECK(points[0].a_us == doctest::Approx(10));
  CHECK(points[0].b_us == doctest::Approx(11));
  CHECK(points[0].verdict == Verdict::slower);
  CHECK(compare(probed("cuda:0", 100, 10), probed("cuda:0", 200, 20.1), 0.05)[1].verdict == Verdict::same);
  const auto alone = compare(probed("cuda:0", 100, 10), {}, 0.05);
  REQUIRE(alone.size() == 2);
  CHECK(alone[0].verdict == Verdict::only_a);
  CHECK(compare({}, probed("cuda:0", 100, 10), 0.05)[0].verdict == Verdict::only_b);
}

TEST_CASE("jobs in streams are compared job by job, by the device's time where they were gated") {
  const auto streams = [](const std::string& device, bool gated, double us) {
    Trace trace;
    JobSeries sweep = jobs_of();
    sweep.question.device = device;
    sweep.question.gating = gated ? Gating::gated : Gating::open;
    add_job(sweep, {.bytes_in = 1000, .chunks = 4, .streams = 4}, around(us, 1));
    add_job(sweep, {.bytes_in = 1000, .chunks = 1}, around(50, 1));
    for (JobSample& s : sweep.samples)
      if (gated) s.device_us = s.host_us / 2;
    trace.of<Jobs>() = {sweep};
    return trace;
  };
  const auto points = compare(streams("cuda:0", false, 100), streams("cuda:3", false, 110), 0.05);
  REQUIRE(points.size() == 2);
  CHECK(points[0].axes == text_of(JobShape{.bytes_in = 1000, .chunks = 1}));
  CHECK(points[0].verdict == Verdict::same);
  CHECK(points[1].title == "jobs cuda:0 increment breadth-first pooled");
  CHECK(points[1].axes == text_of(JobShape{.bytes_in = 1000, .chunks = 4, .streams = 4}));
  CHECK(points[1].change == doctest::Approx(0.1));
  CHECK(points[1].verdict == Verdict::slower);
  CHECK(compare(streams("cuda:0", true, 100), streams("cuda:0", true, 110), 0.05)[1].b_us == doctest::Approx(55));
  // Gated and not are different questions, and wrong results no time.
  const auto other = compare(streams("cuda:0", false, 100), streams("cuda:0", true, 100), 0.05);
  REQUIRE(other.size() == 4);
  CHECK(other[0].verdict == Verdict::only_a);
  CHECK(other[3].verdict == Verdict::only_b);
  Trace wrong = streams("cuda:0", false, 100);
  wrong.of<Jobs>()[0].samples[0].intact = 0;
  CHECK(compare(streams("cuda:0", false, 100), wrong, 0.05)[1].verdict == Verdict::broken);
}

TEST_CASE("a GPU that one trace has only streams of is the other's first GPU all the same") {
  Trace a = one_point(100, 1), b;
  JobSeries jobs = jobs_of();
  add_job(jobs, {.bytes_in = 1000}, around(50, 1));
  a.of<Jobs>() = {jobs};
  jobs.question.device = "cuda:1";
  b.of<Jobs>() = {jobs};
  const auto points = compare(a, b, 0.05);
  REQUIRE(points.size() == 2);
  CHECK(points[0].verdict == Verdict::only_a);
  CHECK(points[1].verdict == Verdict::same);
}
