// How good predictions are, in numbers that can be checked by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "made_jobs.hpp"
#include "netpipe/model/baselines.hpp"
#include "netpipe/model/job_points.hpp"
#include "npgpu/error.hpp"
#include "npgpu/predict.hpp"

using namespace npgpu;
using namespace npgpu::model;

namespace {

// No cost but bytes: 1 B in 1 ns either way, two engines.
MeasuredCosts plain() {
  MeasuredCosts m;
  m.usable = true;
  m.costs.copy_h2d = m.costs.copy_d2h = Curve::line(Seconds{0}, Seconds{1e-9});
  return m;
}

// 1 ms in, 1 ms of kernel, 1 ms out: n chunks take (2 + n)/n ms if nothing else costs.
OverlapSweep one_workload(const std::vector<std::pair<std::uint32_t, double>>& us_of) {
  OverlapSweep sweep = jobs_of();
  for (const auto& [n, us] : us_of)
    add_job(sweep,
            {.bytes_in = 1'000'000,
             .bytes_out = 1'000'000,
             .kernel_bytes = 4096,
             .iterations = 7,
             .chunks = n,
             .streams = n},
            {us, us, us});
  return sweep;
}

std::vector<MeasuredWorkload> workloads(const OverlapSweep& sweep) {
  Trace trace;
  trace.streams.push_back(sweep);
  return workloads_of(trace);
}

const ModelScore& score(const Evaluation& e, const std::string& model) {
  for (const ModelScore& m : e.models)
    if (m.model == model) return m;
  FAIL("no model " << model);
  return e.models.front();
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

TEST_CASE("least squares of relative residuals") {
  // y = 2 + 3 x exactly, over four orders of magnitude.
  const auto x = fit_relative({{1, 1}, {1, 10}, {1, 1000}, {1, 10000}}, {0, 0, 0, 0}, {5, 32, 3002, 30002});
  REQUIRE(x.size() == 2);
  CHECK(x[0] == doctest::Approx(2));
  CHECK(x[1] == doctest::Approx(3));
}

TEST_CASE("a workload needs its uncut job and three cuts, as many streams as chunks, and a kernel") {
  CHECK(workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1250}})).size() == 1);
  CHECK(workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1500}})).empty());
  CHECK(workloads(one_workload({{2, 2000}, {4, 1500}, {8, 1250}, {16, 1125}})).empty());
  OverlapSweep gated = one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1250}});
  gated.question.gated = true;
  CHECK(workloads(gated).empty());
}

TEST_CASE("errors, regret and hits") {
  // The simulator says 2000, 1500 and 1250 us; 8 are measured as 1500, so that 4, 1400, are best.
  const auto all = workloads(one_workload({{1, 3000}, {2, 2000}, {4, 1400}, {8, 1500}}));
  REQUIRE(all.size() == 1);
  const Evaluation e = evaluate(all, plain());
  REQUIRE(e.workloads.size() == 1);
  CHECK(e.workloads[0].kernel_us == doctest::Approx(1000));  // 3000 - 1000 - 1000
  CHECK(e.workloads[0].best == 4);
  CHECK(e.workloads[0].predicted_best == 8);
  const ModelScore& simulator = score(e, "simulator");
  CHECK(simulator.error.median == doctest::Approx(1500.0 / 1400 - 1));  // of 0, 7.1 % and 16.7 %
  CHECK(simulator.error.most == doctest::Approx(1 - 1250.0 / 1500));
  CHECK(simulator.regret.most == doctest::Approx(1500.0 / 1400 - 1));
  CHECK(simulator.hits == 0);
  CHECK(score(e, "n = 1").regret.median == doctest::Approx(3000.0 / 1400 - 1));
  CHECK(score(e, "Best Practices Guide").error.most == doctest::Approx(2250.0 / 1400 - 1));  // 2000 + 1000/4
  // Where H >= E: 1000 + 1000/n + 1000, the same.
  CHECK(score(e, "c.c. 2.x").error.most == doctest::Approx(2250.0 / 1400 - 1));
}

TEST_CASE("models that are fitted never see the workload that they predict") {
  // Three workloads alike and one twice as slow cut as the others: told of itself, the constant would fit better.
  OverlapSweep sweep = one_workload({{1, 3000}, {2, 2000}, {4, 1500}, {8, 1250}});
  for (const std::uint64_t bytes : {2'000'000, 3'000'000}) {
    const double us = static_cast<double>(bytes) * 1e-3;
    for (const std::uint32_t n : {1u, 2u, 4u, 8u})
      add_job(sweep,
              {.bytes_in = bytes, .bytes_out = bytes, .kernel_bytes = 4096, .iterations = 7, .chunks = n, .streams = n},
              {us * (2 + n) / n});
  }
  const auto all = workloads(sweep);
  REQUIRE(all.size() == 3);
  const Evaluation e = evaluate(all, plain());
  CHECK(score(e, "best constant n").regret.most == doctest::Approx(0));  // 8 everywhere
  CHECK(score(e, "u (1-1/n) + t n").error.most < 1e-6);                  // nothing is left over
  CHECK(score(e, "simulator").error.most < 1e-6);
}

TEST_CASE("without workloads there is nothing to evaluate, and the sentence says what measures them") {
  try {
    evaluate({}, plain());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).find("npgpu streams --experiment design") != std::string::npos);
  }
}
