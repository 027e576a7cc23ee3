// Measured jobs, and what is predicted of them, in numbers that can be checked by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "made_jobs.hpp"
#include "netpipe/model/jobs/job_points.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace predicted_jobs_test {

using namespace npgpu;
using namespace npgpu::model;

namespace {

// 1 ms in, 1 ms of kernel, 1 ms out: n chunks take (2 + n)/n ms if nothing else costs.
JobSeries one_workload(const std::vector<std::pair<std::uint32_t, double>>& us_of) {
  JobSeries sweep = jobs_of();
  for (const auto& [n, us] : us_of) add_job(sweep, split_job(1'000'000, n, n), {us, us, us});
  return sweep;
}

std::vector<MeasuredWorkload> workloads(const JobSeries& sweep) {
  Trace trace;
  trace.of<Jobs>().push_back(sweep);
  return workloads_of(trace);
}

using Counts = std::map<LeftOut, std::size_t>;
Counts left_out(const Trace& trace) {
  Counts counts;
  for (const auto& [why, times] : left_out_times(trace, {})) counts[why] = times;
  return counts;
}

}  // namespace

TEST_CASE("Theil and Sen: one wild point of five does not move the slope") {
  const std::vector<XY> line{{1, 3}, {2, 5}, {3, 7}, {4, 9}, {5, 100}};
  CHECK(theil_sen(line, "us", "").value == doctest::Approx(2));
  CHECK(std::isnan(theil_sen(std::vector<XY>{{1, 3}, {1, 4}}, "us", "").value));
}

TEST_CASE("where a rising function reaches a value") {
  CHECK(where_reaches(9, 0, 10, [](double x) { return x * x; }) == doctest::Approx(3));
}

TEST_CASE("spread: of 1 to 20 the median is 10.5 and the 95th percentile the 19th") {
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  const Spread s = spread_of(values);
  CHECK(s.median == 10.5);
  CHECK(s.p95 == 19);
  CHECK(s.most == 20);
  CHECK(std::isnan(spread_of({}).median));
}

TEST_CASE("a slope's interval comes from enough points or says why there is none") {
  std::vector<XY> line;
  for (int i = 1; i <= 5; ++i) line.push_back({1.0 * i, 3.0 * i + (i % 2 ? 0.1 : -0.1)});
  const Estimate few = theil_sen(line, "us", "slope");
  CHECK(std::isfinite(few.value));
  CHECK(std::isnan(few.low));
  CHECK(few.method == "slope; no interval, 5 values are too few");
  for (int i = 6; i <= 12; ++i) line.push_back({1.0 * i, 3.0 * i + (i % 2 ? 0.1 : -0.1)});
  const Estimate many = theil_sen(line, "us", "slope");
  CHECK(many.low <= 3);
  CHECK(many.high >= 3);
  CHECK(many.high - many.low < 0.2);
  CHECK(theil_sen(line, "us", "slope").low == many.low);  // the same each time
}

TEST_CASE("the range of two values is no interval of their median") {
  const Estimate few = median_of(std::vector<double>{-2, 4}, "us", "median");
  CHECK(few.value == 1);
  CHECK(std::isnan(few.low));
  CHECK(few.method == "median; no interval, 2 values are too few");
  const Estimate many = median_of(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}, "us", "median");
  CHECK(many.low == doctest::Approx(2.22791));
  CHECK(many.high == doctest::Approx(7.77209));
}

TEST_CASE("a workload needs its unsplit job and three ways of splitting it, as many streams as chunks, and a kernel") {
  CHECK(workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1250}})).size() == 1);
  CHECK(workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1500}})).empty());
  CHECK(workloads(one_workload({{2, 2000}, {4, 1500}, {8, 1250}, {16, 1125}})).empty());
  JobSeries gated = one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1250}});
  for (const Gating other : {Gating::gated, Gating::last_stream_free}) {
    gated.question.gating = other;
    CHECK(workloads(gated).empty());
  }
}

TEST_CASE("times that others disturbed are in no workload, and counted") {
  Trace trace;
  trace.of<Jobs>().push_back(one_workload({{1, 3000}, {2, 2000}, {3, 1700}, {4, 1500}, {5, 1400}}));
  CHECK(left_out(trace).empty());
  for (auto& visit : trace.of<Jobs>().front().visits)
    if (visit.axes.chunks == 3) visit.disturbed = static_cast<std::uint32_t>(Cause::core_shared);
  CHECK(left_out(trace) == Counts{{LeftOut::disturbed, 1}});
  const auto left = workloads_of(trace);
  REQUIRE(left.size() == 1);
  CHECK(left[0].streams == std::vector<std::uint32_t>{1, 2, 4, 5});
  for (auto& visit : trace.of<Jobs>().front().visits)
    if (visit.axes.chunks == 1) visit.disturbed = static_cast<std::uint32_t>(Cause::core_shared);
  CHECK(left_out(trace) == Counts{{LeftOut::disturbed, 2}, {LeftOut::no_unsplit, 3}});
  CHECK(workloads_of(trace).empty());  // nothing says how long its kernel takes
}

TEST_CASE("a time that is not predicted is counted, with why") {
  Trace trace;
  JobSeries depth_first = one_workload({{1, 3000}, {2, 2000}});
  depth_first.question.order = Order::depth_first;
  add_job(depth_first, split_job(1'000'000, 8, 2), {1500});  // in turn
  add_job(depth_first, split_job(2'000'000, 1, 1), {6000});  // not split
  add_job(depth_first, split_job(3'000'000, 8, 2), {4500});  // without the unsplit job
  JobSeries breadth_first = one_workload({{1, 3000}, {2, 2000}});
  add_job(breadth_first, split_job(1'000'000, 8, 2), {1500});  // not in turn
  JobSeries gated = one_workload({{1, 3000}, {2, 2000}}), graph = gated;
  gated.question.gating = Gating::gated;
  graph.question.issue = Issuing::graph;
  trace.of<Jobs>() = {depth_first, breadth_first, gated, graph};
  CHECK(left_out(trace) == Counts{{LeftOut::part, 2},
                                  {LeftOut::other_streams, 1},
                                  {LeftOut::no_unsplit, 1},
                                  {LeftOut::not_split, 1},
                                  {LeftOut::graph, 2}});
  // These 7 and 5 are all 12.
  std::size_t predicted = predict_in_turn(trace, plain_costs()).size();
  for (const MeasuredWorkload& w : other_workloads_of(trace)) predicted += w.streams.size();
  CHECK(predicted == 5);
}

TEST_CASE("what is predicted of a measured job") {
  // The simulator says 2000, 1500 and 1250 us.
  const auto all = workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1400}, {8, 1500}}));
  REQUIRE(all.size() == 1);
  const PredictedJob one = predict_jobs(all, plain_costs()).jobs.at(0);
  CHECK(microseconds(one.job.kernel) == doctest::Approx(1000));  // 3000 - 1000 - 1000
  CHECK(one.predicted_us.at(0) == 3000);
  CHECK(one.predicted_us.at(3) == doctest::Approx(1250));
  CHECK(microseconds(one.chunks.at(0).h2d) == doctest::Approx(1000));
  CHECK(microseconds(one.chunks.at(2).d2h) == doctest::Approx(250));
  const std::vector<double> errors = errors_of(one);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0] == doctest::Approx(0));
  CHECK(errors[1] == doctest::Approx(1500.0 / 1400 - 1));
  CHECK(errors[2] == doctest::Approx(1 - 1250.0 / 1500));
}

// All copies and no call: each call takes 100 us by the costs, and took 150 in the jobs but one.
TEST_CASE("the host as it was: calls take as many times what the costs say as those of the other jobs") {
  MeasuredCosts m = plain_costs();
  m.costs.issue = {Seconds{100e-6}, Seconds{100e-6}, Seconds{100e-6}};
  SUBCASE("always as long") {}
  SUBCASE("more or less, of which the costs are the median") { m.costs.call_factors = {0.5, 1, 1.2, 3}; }
  std::vector<MeasuredWorkload> all;
  for (const double slower : {1.5, 1.5, 3.0}) {
    MeasuredWorkload w = workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1400}, {8, 1500}})).at(0);
    for (std::size_t i = 0; i < w.streams.size(); ++i) w.issue_us.at(i) = slower * 300 * w.streams[i];
    all.push_back(std::move(w));
  }
  const PredictedJobs predicted = predict_jobs(all, m);
  CHECK(predicted.calls.value == doctest::Approx(1.5));
  const Job job = job_of(all[0], m);
  // In 8 streams the host is the bottleneck. The others of the last one were slow by 1.5; those of the first by 1.5 and
  // 3, of which the median is 2.25.
  for (const auto& [at, slow] : {std::pair{2u, 1.5}, {0u, 2.25}})
    CHECK(predicted.jobs[at].as_host_was_us.back() ==
          doctest::Approx(microseconds(simulate_total(job, 8, with_calls(m.costs, slow), Order::breadth_first).total)));
  CHECK(microseconds(with_calls(m.costs, 1.5).issue.kernel) == doctest::Approx(150));
}

TEST_CASE("what each number of streams costs where it is chosen, over rounds") {
  // In round 0 eight streams took 1400 us, in the others 1300; four took 1250 in round 2, and 1500 else.
  JobSeries sweep = one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1400}});
  for (const double of_four : {1500.0, 1250.0})
    for (const auto& [n, us] : {std::pair{1u, 3000.0}, {2u, 2000.0}, {4u, of_four}, {8u, 1300.0}})
      add_job(sweep, split_job(1'000'000, n, n), {us});
  const auto regrets = regrets_of_choosing(workloads(sweep).at(0));
  REQUIRE(regrets.size() == 4);
  CHECK(regrets[3].value == doctest::Approx(0));                  // without any round 8 is best of the others
  CHECK(regrets[0].value == doctest::Approx(3000.0 / 1300 - 1));  // 3000 over 1400, 1300 and 1300
  // One round alone has none.
  CHECK(std::isnan(
      regrets_of_choosing(workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1400}, {8, 1500}})).at(0)).at(0).value));
}

// Kernels of its sort: 400 us with one iteration, 10 us for each more; of 4 blocks and fewer. The job's has 2.
TEST_CASE("a workload's kernel is what is left of the unsplit time, weighed with kernels of its sort") {
  MeasuredCosts m = plain_costs();
  m.costs.latency.kernel = Seconds{200e-6};
  m.multiprocessors = 4;
  m.threads_per_multiprocessor = 512;
  const MeasuredWorkload w = workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1300}})).front();
  const auto kernel_us = [&] { return microseconds(job_of(w, m).kernel); };
  CHECK(kernel_us() == doctest::Approx(3000 - 2000 - 200));
  KernelTimes times;
  times.workload = w.question.workload;
  times.threads = 512;
  times.few = 1;
  times.many = 101;
  times.time_of_few = Curve({{1, Seconds{400e-6}}, {4, Seconds{400e-6}}});
  times.time_of_many = Curve({{1, Seconds{1400e-6}}, {4, Seconds{1400e-6}}});
  m.kernels = {times};
  CHECK(microseconds(*kernel_time(m, w.question.workload, w.job)) == doctest::Approx(400 + 6 * 10));
  // The rest may be half a latency off, 100 us, and the kernels a tenth, 46 us.
  const double rest = 1 / (100. * 100), alone = 1 / (46. * 46);
  CHECK(kernel_us() == doctest::Approx((rest * 800 + alone * 460) / (rest + alone)));
  // 900 and 460 us are further apart than two latencies.
  m.costs.latency.kernel = Seconds{100e-6};
  CHECK(kernel_us() == doctest::Approx(900));
  JobShape larger = w.job;
  larger.kernel_bytes *= 6;
  CHECK(microseconds(*kernel_time(m, w.question.workload, larger)) == doctest::Approx(3 * 460));
  larger.threads = 256;
  CHECK_FALSE(kernel_time(m, w.question.workload, larger));
}

TEST_CASE("workloads with few cuts or with streams made for them are predicted, and in no score") {
  JobSeries sweep = one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1250}});
  for (const std::uint32_t n : {1u, 16u}) add_job(sweep, split_job(2'000'000, n, n), {6000.0 / n});
  JobSeries fresh = one_workload({{1, 3010}, {2, 2020}, {4, 1540}, {8, 1330}});
  fresh.question.pool = StreamPool::fresh;
  Trace trace;
  trace.of<Jobs>() = {sweep, fresh};
  const auto scored = workloads_of(trace), others = other_workloads_of(trace);
  REQUIRE(scored.size() == 1);
  REQUIRE(others.size() == 2);

  MeasuredCosts costs = plain_costs();
  costs.create = Seconds{10e-6};
  const PredictedJobs predicted = predict_jobs(scored, costs, others);
  CHECK(predicted.jobs.size() == 1);
  REQUIRE(predicted.others.size() == 2);
  CHECK(predicted.others[0].workload.streams == std::vector<std::uint32_t>{1, 16});
  CHECK(predicted.others[0].predicted_us[1] == doctest::Approx(2250));  // (2 + 16)/16 of 2 ms
  CHECK(microseconds(predicted.others[1].job.kernel) ==
        doctest::Approx(1000));                                         // 3010 - 1000 - 1000 - 10 for the stream
  CHECK(predicted.others[1].predicted_us[3] == doctest::Approx(1330));  // 1250 and eight streams
  CHECK(predict_jobs({}, costs, others).jobs.empty());
}

TEST_CASE("without workloads there is nothing to predict, and the sentence says what measures them") {
  try {
    predict_jobs({}, plain_costs());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).find("npgpu streams --experiment design") != std::string::npos);
  }
}

}  // namespace predicted_jobs_test
