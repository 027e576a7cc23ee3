// One job measured, by a runner whose times are given.
#include <doctest/doctest.h>

#include <cmath>

#include "netpipe/jobs/runner.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace job_runner_test {

using namespace npgpu;

namespace {

class MadeBackend final : public Backend<Jobs> {
 public:
  std::string_view name() const override { return "jobs"; }
  std::string_view device_kind() const override { return "made"; }
  std::string_view summary() const override { return "made"; }
  std::optional<std::string> refuses(const JobStep& step) const override { return npgpu::refuses(step); }
  std::unique_ptr<Runner<Jobs>> open(std::span<const JobStep>) const override { return nullptr; }
};
const MadeBackend backend;

// A device that copies 1 B in 1 ns either way and runs an iteration of its kernel in 10 us; 50 us for each job.
class MadeRunner final : public JobRunner {
 public:
  MadeRunner() : JobRunner(backend) {}
  std::string binding() const override { return "made"; }

  std::optional<std::string> wrong;
  int prepared = 0, runs = 0, voids = 0;

 private:
  void set_up() override { ++prepared; }
  std::optional<JobSample> launch() override {
    if (++runs <= voids) return std::nullopt;
    JobSample sample;
    sample.host_us = 50 + 1e-3 * static_cast<double>(job().bytes_in + job().bytes_out);
    if (job().kernel_bytes) sample.host_us += 10 * static_cast<double>(job().iterations);
    sample.issue_us = 3;
    if (question().gating == Gating::gated) sample.device_us = sample.host_us - 40;
    if (question().pool == StreamPool::fresh) sample.create_us = 2, sample.destroy_us = 1;
    return sample;
  }
  std::optional<std::string> wrong_result() override { return wrong; }
};

const JobCase pooled{.device = "made:0"};
const JobShape job{.bytes_in = 1'000'000, .bytes_out = 1'000'000, .kernel_bytes = 1'000'000, .iterations = 5};

std::optional<Measured<Jobs>> measured(MadeRunner& runner, std::unique_ptr<Schedule> schedule,
                                       const JobCase& question = pooled) {
  return measure<Jobs>(runner, *schedule, {question, job}, {});
}

}  // namespace

TEST_CASE("each trial is one job, and the last carries the verdict") {
  MadeRunner runner;
  REQUIRE(measured(runner, classic_schedule({.trials = 2, .fixed_repeats = 1})));
  const auto second = measured(runner, adaptive_schedule({.trial = Seconds{0}}));
  REQUIRE(second);
  const auto& samples = second->samples;
  REQUIRE(samples.size() == 9);  // all equal: narrow after the fewest trials
  CHECK(samples[8].trial == 8);
  CHECK(samples[8].host_us == doctest::Approx(2100));  // 50 + 2000 + 50
  CHECK(samples[8].issue_us == doctest::Approx(3));
  CHECK(std::isnan(samples[8].create_us));
  CHECK(std::isnan(samples[8].device_us));
  CHECK(samples[7].intact == -1);
  CHECK(samples[8].intact == 1);
  CHECK(second->visit.stop == Stop::converged);
  CHECK(second->visit.axes == job);
  CHECK(runner.prepared == 2);
}

TEST_CASE("a wrong result is kept, marked, and said") {
  MadeRunner runner;
  runner.wrong = "chunk 0 of 1 on the device: word 7 is not what the job leaves";
  const auto one = measured(runner, classic_schedule({.trials = 2}));
  REQUIRE(one);
  CHECK(one->samples.back().intact == 0);
  CHECK(one->mismatch == *runner.wrong);
}

TEST_CASE("nothing passes for a result before a job has run, or runs before one was prepared") {
  MadeRunner runner;
  std::vector<JobSample> samples;
  CHECK_THROWS_AS(runner.run(1, samples), Error);
  runner.prepare({pooled, job});
  CHECK(runner.check(samples).value_or("") == "nothing has run since this job was prepared");
  CHECK(runner.run(1, samples));
  CHECK_FALSE(runner.check(samples));
}

TEST_CASE("a trial whose gate timed out is run again; three in a row are an error") {
  JobCase gated = pooled;
  gated.gating = Gating::gated;
  MadeRunner two;
  two.voids = 2;
  const auto one = measured(two, classic_schedule({.trials = 2}), gated);
  REQUIRE(one);
  CHECK(one->samples.size() == 2);
  CHECK(one->samples[0].device_us == doctest::Approx(2060));
  CHECK(one->visit.void_trials == 2);
  MadeRunner three;
  three.voids = 3;
  CHECK_THROWS_AS(measured(three, classic_schedule({.trials = 2}), gated), Error);
}

TEST_CASE("iterations of a ratio: the copies take 2050 us, a kernel 50 + 10 per iteration") {
  const auto chosen = [](double ratio) {
    MadeRunner runner;
    JobStep step{pooled, job};
    step.axes.kernel_ratio = ratio;
    const JobStep settled = runner.settled(step, {});
    CHECK(settled.axes.kernel_ratio == 0);
    CHECK_THROWS_WITH_AS(runner.prepare(step), doctest::Contains("have not been chosen"), Error);
    return settled.axes.iterations;
  };
  CHECK(chosen(1.0) == 200);    // 50 + 2000 = 2050
  CHECK(chosen(0.5) == 98);     // 50 + 980 = 1030, and 97.5 rounds up
  CHECK(chosen(20.0) == 4095);  // 41000
  CHECK(chosen(0.001) == 1);    // never none
}

// 1'000'000 is the most that a job may have.
TEST_CASE("iterations of a ratio stay within what a job may have, however long the copies") {
  MadeRunner runner;
  JobStep step{pooled, job};
  step.axes.bytes_in = step.axes.bytes_out = std::uint64_t{1} << 33;
  step.axes.kernel_ratio = 1000;
  CHECK(runner.settled(step, {}).axes.iterations == 1'000'000);
}

TEST_CASE("iterations of a ratio are the same for all splits of a workload, and those of the trace stay") {
  MadeRunner runner;
  JobStep step{pooled, job};
  step.axes.kernel_ratio = 1;
  CHECK(runner.settled(step, {}).axes.iterations == 200);
  const int runs = runner.runs;
  step.axes.chunks = step.axes.streams = 4;
  CHECK(runner.settled(step, {}).axes.iterations == 200);
  CHECK(runner.settled(step, {}).axes.chunks == 4);
  CHECK(runner.runs == runs);  // chosen once
  step.question.issue = Issuing::graph;
  CHECK(runner.settled(step, {}).axes.iterations == 200);
  CHECK(runner.settled(step, {}).question.issue == Issuing::graph);
  CHECK(runner.runs == runs);  // the same kernel as a graph

  MadeRunner later;
  JobShape known = job, other = job;
  known.iterations = 77;
  known.chunks = known.streams = 2;
  other.bytes_in = 4;
  other.iterations = 99;
  const std::vector<JobShape> in_trace{known, other};
  CHECK(later.settled(step, in_trace).axes.iterations == 77);
  CHECK(later.runs == 0);
  CHECK(later.settled({pooled, job}, in_trace).axes == job);  // no ratio: as it was asked for
}

TEST_CASE("a workload with kernels of several lengths: each ratio has its own iterations, in the trace as well") {
  MadeRunner runner;
  JobStep step{pooled, job};
  const auto iterations = [&](MadeRunner& of, double ratio, std::span<const JobShape> known) {
    step.axes.kernel_ratio = ratio;
    return of.settled(step, known).axes.iterations;
  };
  CHECK(iterations(runner, 1, {}) == 200);
  JobShape first = job;
  first.iterations = 200;
  CHECK(iterations(runner, 0.5, std::vector{first}) == 98);  // 200 are those of another ratio
  step.question.pool = StreamPool::fresh;
  const int runs = runner.runs;
  CHECK(iterations(runner, 0.5, {}) == 98);
  CHECK(runner.runs == runs);  // the same kernel in streams that are made for it
  // Resumed: 200 and 98 are wanted, and the trace has 203, 96 and others.
  std::vector<JobShape> in_trace;
  for (const std::uint64_t one : {203, 96, 150}) {
    in_trace.push_back(job);
    in_trace.back().iterations = one;
  }
  MadeRunner later;
  CHECK(iterations(later, 1, in_trace) == 203);
  CHECK(iterations(later, 0.5, in_trace) == 96);
  CHECK(iterations(later, 2, in_trace) == 405);  // 4100 us: none is within 10 %
}

TEST_CASE("devices without streams are refused, in words") {
  CHECK_THROWS_WITH_AS(find_job_backend("host"), doctest::Contains("'host' has no streams"), Error);
  CHECK_THROWS_WITH_AS(find_job_backend("host"), doctest::Contains("sim"), Error);
  CHECK(find_job_backend("sim:h200").device_kind() == "sim");
}

}  // namespace job_runner_test
