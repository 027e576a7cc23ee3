// One job measured, by a runner whose times are given.
#include <doctest/doctest.h>

#include <cmath>

#include "npgpu/error.hpp"
#include "npgpu/job.hpp"

using namespace npgpu;

namespace {

// A device that copies 1 B in 1 ns either way and runs an iteration of its kernel in 10 us; 50 us for each job.
class MadeRunner final : public Runner<Jobs> {
 public:
  void prepare(const JobCase& c, const JobShape& job) override {
    case_ = c;
    job_ = job;
    ++prepared;
  }
  JobTimes run() override {
    ++runs;
    JobTimes ran;
    ran.host = Seconds{50e-6 + 1e-9 * static_cast<double>(job_.bytes_in + job_.bytes_out)};
    if (job_.kernel_bytes) ran.host += Seconds{10e-6 * static_cast<double>(job_.iterations)};
    ran.issue = Seconds{3e-6};
    if (case_.gating == Gating::gated) ran.device = ran.host - Seconds{40e-6};
    if (case_.pool == StreamPool::fresh) ran.create = Seconds{2e-6}, ran.destroy = Seconds{1e-6};
    ran.voided = case_.gating && runs <= voids;
    return ran;
  }
  std::optional<std::string> intact() override { return wrong; }
  const Clock& clock() const override { return steady_clock(); }
  std::string binding() const override { return "made"; }

  std::optional<std::string> wrong;
  int prepared = 0, runs = 0, voids = 0;

 private:
  JobCase case_;
  JobShape job_;
};

const JobCase pooled{.device = "cuda:0"};
const JobShape job{.bytes_in = 1'000'000, .bytes_out = 1'000'000, .kernel_bytes = 1'000'000, .iterations = 5};

}  // namespace

TEST_CASE("each trial is one job; trials are numbered over the run; the last carries the verdict") {
  MadeRunner runner;
  const auto schedule = adaptive_schedule({.trial = Seconds{0}});
  std::uint64_t number = 40;
  const auto measured = measure_job(runner, *schedule, pooled, job, number, {});
  REQUIRE(measured);
  REQUIRE(measured->samples.size() == 9);  // all equal: narrow after the least trials
  CHECK(number == 49);
  CHECK(measured->samples[0].number == 40);
  CHECK(measured->samples[8].trial == 8);
  CHECK(measured->samples[8].host_us == doctest::Approx(2100));  // 50 + 2000 + 50
  CHECK(measured->samples[8].issue_us == doctest::Approx(3));
  CHECK(std::isnan(measured->samples[8].create_us));
  CHECK(std::isnan(measured->samples[8].device_us));
  CHECK(measured->samples[7].intact == -1);
  CHECK(measured->samples[8].intact == 1);
  CHECK(measured->point.stop == Stop::converged);
  CHECK(measured->point.axes == job);
  CHECK(runner.prepared == 1);
}

TEST_CASE("a wrong result is kept, marked, and told") {
  MadeRunner runner;
  runner.wrong = "chunk 0 of 1 on the device: word 7 is not what the job leaves";
  const auto schedule = classic_schedule({.trials = 2});
  std::uint64_t number = 0;
  const auto measured = measure_job(runner, *schedule, pooled, job, number, {});
  REQUIRE(measured);
  CHECK(measured->samples.back().intact == 0);
  CHECK(measured->mismatch == *runner.wrong);
}

TEST_CASE("a trial whose gate timed out is taken again; three in a row are an error") {
  JobCase gated = pooled;
  gated.gating = Gating::gated;
  std::uint64_t number = 0;
  {
    MadeRunner runner;
    runner.voids = 2;
    const auto schedule = classic_schedule({.trials = 2});
    const auto measured = measure_job(runner, *schedule, gated, job, number, {});
    REQUIRE(measured);
    CHECK(measured->samples.size() == 2);
    CHECK(measured->samples[0].device_us == doctest::Approx(2060));
  }
  MadeRunner runner;
  runner.voids = 3;
  const auto schedule = classic_schedule({.trials = 2});
  CHECK_THROWS_AS(measure_job(runner, *schedule, gated, job, number, {}), Error);
}

TEST_CASE("an interrupted measurement leaves nothing") {
  MadeRunner runner;
  const auto schedule = classic_schedule({.trials = 5});
  std::uint64_t number = 0;
  int asked = 0;
  CHECK_FALSE(measure_job(runner, *schedule, pooled, job, number, [&] { return ++asked == 3; }));
}

TEST_CASE("iterations for a ratio: the copies take 2050 us, a kernel 50 + 10 an iteration") {
  MadeRunner runner;
  CHECK(iterations_for(runner, pooled, job, 1.0) == 200);    // 50 + 2000 = 2050
  CHECK(iterations_for(runner, pooled, job, 0.5) == 98);     // 50 + 980 = 1030, and 97.5 rounds up
  CHECK(iterations_for(runner, pooled, job, 20.0) == 4095);  // 41000
  CHECK(iterations_for(runner, pooled, job, 0.001) == 1);    // never none
}

TEST_CASE("devices without streams are refused, in words") {
  CHECK_THROWS_AS(find_job_backend("host"), Error);
  try {
    find_job_backend("host");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("cuda:N or sim:NAME") != std::string::npos);
  }
}
