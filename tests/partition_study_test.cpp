// What is made of runs of the partition method: the tables of the paper from times written down by hand, and the choice
// of the number of streams on simulated devices, whose truth is exact.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "made_visit.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "probed.hpp"
#include "streamed.hpp"

namespace partition_study_test {

using namespace npgpu;

namespace {

void add_run(Trace& trace, const PartitionCase& question, const PartitionShape& shape, PartitionSample sample) {
  auto& all = trace.of<Partitions>();
  auto series = std::ranges::find(all, question, &PartitionSeries::question);
  if (series == all.end()) {
    series = all.emplace(all.end());
    series->question = question;
    series->device_name = "Test GPU";
  }
  const Visit<Partitions> visit = next_visit(*series, shape, 1);
  sample.visit = static_cast<std::uint32_t>(series->visits.size());
  series->visits.push_back(visit);
  series->samples.push_back(sample);
}

// Table II of Veneva & Imamura 2025, in us: 1e6 unknowns.
const std::map<std::uint32_t, double> table2_us{{1, 8817.440}, {2, 7999.136},  {4, 7533.248},
                                                {8, 7401.472}, {16, 7445.952}, {32, 7599.968}};
constexpr double table2_sum_us = 2433.568;

void add_size(Trace& trace, Precision type, std::uint64_t size, double scale = 1) {
  for (const auto& [n, us] : table2_us)
    for (const double off : {0.999, 1.0, 1.001})
      add_run(trace, {"cuda:0", type, PartitionTiming::whole}, {size, 10, n, n},
              {.host_us = us * scale * off, .stage2_us = 3000 * scale});
  add_run(trace, {"cuda:0", type, PartitionTiming::stages}, {size, 10, 1, 1},
          {.host_us = 9000 * scale,
           .stage2_us = 3000 * scale,
           .stage1_in_us = 2500 * scale,
           .stage1_kernel_us = 500 * scale,
           .stage1_out_us = 1000 * scale,
           .stage3_in_us = 250 * scale,
           .stage3_kernel_us = (table2_sum_us - 1750) * scale,
           .stage3_out_us = 600 * scale});
}

const PartitionChoice& chosen(const PartitionRow& row, const std::string& model) {
  const auto at = std::ranges::find(partition_models, model, &PartitionModel::model) - partition_models.begin();
  return row.choices.at(static_cast<std::size_t>(at));
}

// The trace of a simulated device: what streams cost, and the partition method.
Trace simulated_trace(const std::string& id, std::vector<std::uint64_t> sizes, std::vector<std::uint32_t> streams) {
  Trace trace = streamed(id, overheads_experiment(id));
  const Precision types[] = {Precision::fp64};
  const auto steps = partition_steps(id, types, sizes, 10, streams);
  const auto& all = backends<Partitions>();
  const auto& backend = *std::ranges::find(all, "sim", [](const auto& one) { return one->device_kind(); });
  const auto runner = backend->open(steps);
  for (const PartitionStep& step : steps) {
    runner->prepare(step);
    for (int visit = 0; visit < 3; ++visit) {
      std::vector<PartitionSample> samples;
      CHECK(runner->run(1, samples));
      add_run(trace, step.question, step.axes, samples.at(0));
    }
  }
  return trace;
}

// Of a model's choices: their regrets, and how far its times in two and more streams are off.
struct Told {
  Spread regret, error;
};
Told told(const PartitionStudy& s, const std::string& model) {
  std::vector<double> regrets, errors;
  for (const PartitionRow& row : s.rows) {
    const PartitionChoice& choice = chosen(row, model);
    REQUIRE(choice.streams);
    regrets.push_back(choice.regret.value);
    for (std::size_t i = 1; i < choice.predicted_us.size(); ++i)
      errors.push_back(std::abs(choice.predicted_us[i] / row.time_us[i].value - 1));
  }
  return {spread_of(regrets), spread_of(errors)};
}

}  // namespace

TEST_CASE("Table II from a trace: overhead and gain of each number of streams") {
  Trace trace;
  add_size(trace, Precision::fp64, 1'000'000);
  const auto studies = partition_studies(trace);
  REQUIRE(studies.size() == 1);
  const PartitionStudy& s = studies[0];
  REQUIRE(s.rows.size() == 1);
  const PartitionRow& row = s.rows[0];
  CHECK(row.streams == std::vector<std::uint32_t>{1, 2, 4, 8, 16, 32});
  CHECK(row.best == 8);
  CHECK(row.sum_us == doctest::Approx(table2_sum_us));
  const double overhead_us[] = {0, 398.480, 540.984, 713.404, 909.982, 1140.047};
  const double gain_us[] = {0, 818.304, 1284.192, 1415.968, 1371.488, 1217.472};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(std::abs(row.overhead_us[i] - overhead_us[i]) < 1e-3);
    CHECK(std::abs(row.gain_us[i] - gain_us[i]) < 1e-3);
  }
  // One stream: 8817.44 / 7401.472. The intervals of three visits are about 0.25 % wide each.
  const Estimate& regret = chosen(row, "n = 1").regret;
  CHECK(regret.value == doctest::Approx(8817.44 / 7401.472 - 1));
  CHECK(regret.low < regret.value);
  CHECK(regret.high > regret.value);
  CHECK(regret.low > 0.18);
  // Each visit is 0.1 % off in both, so that all say the same.
  CHECK(chosen(row, "n = 1").cross_validated.value == doctest::Approx(8817.44 / 7401.472 - 1));
  // One size gives no regression, and without costs there is no simulator: both say so.
  CHECK_FALSE(chosen(row, "Veneva & Imamura 2025").streams);
  CHECK_FALSE(chosen(row, "simulator").streams);
  REQUIRE(s.missing.size() == 2);
  CHECK(s.missing[0].find("--experiment overheads --append") != std::string::npos);
  CHECK(s.missing[1].find("two sizes") != std::string::npos);
}

// Beside the host's stage the runs take 3000, 2500, 2400 and 2450 us in 1 to 8 streams. The host's stage takes 5000 us,
// but for a visit of 4 streams and all of 8: as whole runs 8 streams are the best.
TEST_CASE("the host's stage is made even: what it takes more or less in single runs chooses no number of streams") {
  Trace trace;
  const double rest_us[] = {3000, 2500, 2400, 2450};
  const double stage2_us[][3] = {{5000, 5000, 5000}, {5000, 5000, 5000}, {5000, 5600, 5600}, {4900, 4900, 4900}};
  for (int i = 0; i < 4; ++i)
    for (const double us : stage2_us[i])
      add_run(trace, {"cuda:0", Precision::fp64, PartitionTiming::whole}, {1'000'000, 10, 1u << i, 1u << i},
              {.host_us = rest_us[i] + us, .stage2_us = us});
  const auto studies = partition_studies(trace);
  REQUIRE(studies.size() == 1);
  const PartitionRow& row = studies[0].rows.at(0);
  CHECK(row.best == 8);
  CHECK(row.stage2_us.value == doctest::Approx(5000));  // the median of 5000, 5000, 5600 and 4900
  for (int i = 0; i < 4; ++i) CHECK(row.even_us.at(i).value == doctest::Approx(rest_us[i] + 5000));
  const PartitionChoice& one = chosen(row, "n = 1");
  CHECK(one.regret.value == doctest::Approx(8000.0 / 7350 - 1));
  CHECK(one.even_regret.value == doctest::Approx(8000.0 / 7400 - 1));
}

TEST_CASE("the paper's model chooses for a size from the other sizes") {
  Trace trace;
  for (const std::uint64_t size : {250'000u, 500'000u, 1'000'000u})
    add_size(trace, Precision::fp64, size, static_cast<double>(size) / 1e6);
  add_size(trace, Precision::fp32, 1'000'000);
  const auto studies = partition_studies(trace);
  REQUIRE(studies.size() == 2);
  const PartitionStudy& s = studies[studies[0].type == Precision::fp64 ? 0 : 1];
  REQUIRE(s.rows.size() == 3);
  // All times are proportional to the size, so that sum is: 2433.568e-6 N.
  CHECK(s.fitted.sum_slope == doctest::Approx(2433.568e-6));
  CHECK(std::abs(s.fitted.sum_start) < 1e-6);
  CHECK(s.fitted.sum_quality.r2 == doctest::Approx(1));
  CHECK(s.fitted.small_quality.rows == 15);
  CHECK(s.fitted.big_quality.rows == 0);
  const PartitionChoice& paper = chosen(s.rows[1], "Veneva & Imamura 2025");
  REQUIRE(paper.streams);
  CHECK(paper.regret.value < 0.02);
  CHECK(paper.predicted_us.size() == 6);
  CHECK(told(s, "Veneva & Imamura 2025").error.median > 0);
  CHECK(told(s, "n = 1").regret.median == doctest::Approx(8817.44 / 7401.472 - 1));
  // The forms with all sizes, at the points that they were fitted to.
  CHECK(s.rows[1].fitted_overhead_us.at(5) == s.fitted.overhead(500'000, 32));
}

TEST_CASE("wrong results void a point, and a size without one stream is no size") {
  Trace trace;
  add_size(trace, Precision::fp64, 1'000'000);
  for (auto& series : trace.of<Partitions>())
    for (std::size_t i = 0; i < series.visits.size(); ++i)
      if (series.visits[i].axes.streams == 8) series.samples[i].intact = 0;
  CHECK(partition_studies(trace).at(0).rows.at(0).best == 16);
  for (auto& series : trace.of<Partitions>())
    for (std::size_t i = 0; i < series.visits.size(); ++i)
      if (series.visits[i].axes.streams == 1) series.samples[i].intact = 0;
  CHECK(partition_studies(trace).empty());
}

TEST_CASE("on a simulated H200 without scatter the simulator chooses the best number of streams") {
  const ChangedSpec spec("h200", [](nlohmann::json& s) { s.erase("noise"); });
  const Trace trace = simulated_trace(spec.id(), {10'000, 100'000, 1'000'000, 4'000'000, 10'000'000, 100'000'000},
                                      {1, 2, 4, 8, 16, 32});
  const auto studies = partition_studies(trace);
  REQUIRE(studies.size() == 1);
  CHECK(studies[0].missing.empty());
  const Told ours = told(studies[0], "simulator");
  CAPTURE(ours.regret.most);
  CAPTURE(ours.error.most);
  CHECK(ours.regret.median == 0);
  CHECK(ours.regret.most < 0.005);
  CHECK(ours.error.median < 0.01);
  CHECK(ours.error.most < 0.03);
}

TEST_CASE("with the scatter of a real device its choice costs at most 1 % in the median") {
  const Trace trace = simulated_trace("sim:h200", {4'000, 50'000, 400'000, 800'000, 2'500'000, 8'000'000, 25'000'000},
                                      {1, 2, 3, 4, 6, 8, 12, 16, 24, 32});
  const auto studies = partition_studies(trace);
  REQUIRE(studies.size() == 1);
  const Told ours = told(studies[0], "simulator");
  CAPTURE(ours.regret.most);
  CHECK(ours.regret.median <= 0.01);
  CHECK(ours.regret.most <= 0.05);
  CHECK(ours.error.median <= 0.02);
}

TEST_CASE("text and JSON have every size, and say what is simulated") {
  Trace trace;
  add_size(trace, Precision::fp64, 500'000, 0.5);
  add_size(trace, Precision::fp64, 1'000'000);
  auto studies = partition_studies(trace);
  studies[0].simulated = true;
  std::ostringstream text;
  partition_text(text, studies, {});
  CHECK(text.str().find("SIMULATED") != std::string::npos);
  CHECK(text.str().find("500000") != std::string::npos);
  CHECK(text.str().find("1.19x") != std::string::npos);
  CHECK(text.str().find("missing: the simulator needs") != std::string::npos);
  std::ostringstream json, whole;
  const TraceResults results(trace);
  report_json(json, results);
  const auto j = nlohmann::json::parse(json.str());
  REQUIRE(j["partition_studies"].size() == 1);
  const auto& size = j["partition_studies"][0]["sizes"][1];
  CHECK(size["best"] == 8);
  CHECK(size["points"].size() == 6);
  CHECK(size["points"][3]["gain_us"].get<double>() == doctest::Approx(1415.968).epsilon(1e-6));
  CHECK(size["choices"][0]["streams"].is_null());
  CHECK(size["choices"][3]["regret"].get<double>() == doctest::Approx(0.19131).epsilon(1e-4));
  CHECK(size["choices"][3]["cross_validated"].get<double>() == doctest::Approx(0.19131).epsilon(1e-4));
  report_text(whole, results, {});
  CHECK(whole.str().find("1.19x") != std::string::npos);
}

}  // namespace partition_study_test
