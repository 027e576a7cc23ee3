// Jobs in streams, summarized: numbers that add up by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/made_jobs.hpp"

namespace job_summary_test {

using namespace npgpu;

TEST_CASE("the median of the host's times, and of the device's where gated") {
  JobSeries sweep = jobs_of();
  add_job(sweep, {.bytes_in = 4096}, {3, 1, 2, 5, 4, 6, 7});
  auto all = results(sweep);
  REQUIRE(all.size() == 1);
  CHECK(all[0].time_us.value == 4);
  CHECK(all[0].time_us.low == doctest::Approx(1.73333));  // seven trials: see statistics_test
  CHECK(all[0].time_us.high == doctest::Approx(6.26667));
  CHECK(all[0].trials == 7);
  CHECK(all[0].issue_us == 0.5);
  CHECK(std::isnan(all[0].create_us));
  CHECK(all[0].speed_up == 1);
  sweep.question.gating = Gating::last_stream_free;  // no device time, and the host's is that of one stream
  CHECK(results(sweep)[0].time_us.value == 4);
  sweep.question.gating = Gating::gated;
  all = results(sweep);
  CHECK(std::isnan(all[0].time_us.value));
  for (JobSample& s : sweep.samples) s.device_us = 9;
  CHECK(results(sweep)[0].time_us.value == 9);
}

TEST_CASE("speed-up is over the same job unsplit, whatever the order of measuring") {
  JobSeries sweep = jobs_of();
  add_job(sweep, {.bytes_in = 4096, .chunks = 8, .streams = 8}, {5});
  add_job(sweep, {.bytes_in = 8192, .chunks = 2, .streams = 2}, {7});
  add_job(sweep, {.bytes_in = 4096}, {10});
  const auto all = results(sweep);
  REQUIRE(all.size() == 3);
  CHECK(all[0].axes.chunks == 1);
  CHECK(all[0].speed_up == 1);
  CHECK(all[1].speed_up == 2);
  CHECK(std::isnan(all[2].speed_up));  // of 8192 B there is no unsplit one
}

TEST_CASE("wrong results void a point, and no other's speed-up is taken over it") {
  JobSeries sweep = jobs_of();
  add_job(sweep, {.bytes_in = 4096}, {10, 11});
  add_job(sweep, {.bytes_in = 4096, .chunks = 2, .streams = 2}, {5, 5});
  sweep.samples[1].intact = 0;
  const auto all = results(sweep);
  CHECK(std::isnan(all[0].time_us.value));
  CHECK(all[0].time_us.method == "results were wrong");
  CHECK(std::isnan(all[1].speed_up));
}

TEST_CASE("points that claim more samples than there are") {
  JobSeries sweep = jobs_of();
  add_job(sweep, {.bytes_in = 4096}, {10});
  sweep.visits[0].samples = 5;
  CHECK(results(sweep)[0].time_us.value == 10);
  sweep.visits[0].first_sample = 7;
  CHECK(results(sweep)[0].trials == 0);
}

TEST_CASE("a disturbed visit to a job does not count, unless most were") {
  JobSeries sweep = jobs_of();
  for (const double us : {10.0, 30.0, 12.0}) add_job(sweep, {.bytes_in = 4096}, {us});
  add_job(sweep, {.bytes_in = 4096, .chunks = 2, .streams = 2}, {5.5});
  disturb(sweep.visits[1], Cause::core_shared);
  auto all = results(sweep);
  REQUIRE(all.size() == 2);
  CHECK(all[0].trials == 2);
  CHECK(all[0].time_us.value == 11);
  CHECK(all[0].disturbed.empty());
  CHECK(all[1].speed_up == 2);
  for (Visit<Jobs>& visit : sweep.visits) disturb(visit, Cause::core_shared);
  all = results(sweep);
  CHECK(all[0].trials == 3);
  CHECK(all[0].time_us.value == 12);
  CHECK(all[0].disturbed == "no core of its own");
}

}  // namespace job_summary_test
