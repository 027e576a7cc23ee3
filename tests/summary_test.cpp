#include <doctest/doctest.h>

#include <cmath>

#include "tests/made_jobs.hpp"
#include "tests/made_sweep.hpp"

namespace summary_test {

using namespace npgpu;

TEST_CASE("one point by hand: 1000 bytes in 1, 2 and 6 us is 500 MB/s by the median") {
  TransferSeries sweep = sweep_of();
  sweep.limit = {1e9, "by hand"};
  add_point(sweep, 1000, {6, 1, 2});
  const auto all = results(sweep);
  REQUIRE(all.size() == 1);
  const TransferResult& p = all[0];
  CHECK(p.axes.bytes == 1000);
  CHECK(p.trials == 3);
  CHECK(p.time_us.value == doctest::Approx(2));
  CHECK(p.min_us == doctest::Approx(1));
  CHECK(p.max_us == doctest::Approx(6));
  CHECK(p.mean_us == doctest::Approx(3));
  CHECK(p.rate.value == doctest::Approx(500e6));
  CHECK(p.percent_of_limit == doctest::Approx(50));
  // Three trials carry no 95 % interval.
  CHECK(std::isnan(p.time_us.low));
  CHECK(std::isnan(p.rate.high));
}

TEST_CASE("a rate comes from the summarized time: the mean of the rates would be 2/3 higher") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 100, {1, 3});  // 100 and 33.3 MB/s; median time 2 us
  CHECK(results(sweep)[0].rate.value == doctest::Approx(50e6));
}

TEST_CASE("times are divided by the repeats, and halved for a round trip") {
  TransferSeries stream = sweep_of();
  add_point(stream, 8, {40}, 10);
  CHECK(results(stream)[0].time_us.value == doctest::Approx(4));
  TransferSeries pingpong = sweep_of(Pattern::pingpong);
  add_point(pingpong, 8, {40}, 10);
  CHECK(results(pingpong)[0].time_us.value == doctest::Approx(2));
}

TEST_CASE("device time is used where the case asks for it") {
  for (const Timing timing : {Timing::event, Timing::gated}) {
    TransferSeries sweep = sweep_of(Pattern::stream, timing);
    add_point(sweep, 8, {4});  // the helper puts 1e9 us into the host's column
    CHECK(results(sweep)[0].time_us.value == doctest::Approx(4));
  }
}

TEST_CASE("seven trials: the 95 % interval of the median lies 0.733 of the way from the ends to what is next to them") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 4000, {4, 5, 8, 4, 4, 4, 2});
  const TransferResult p = results(sweep)[0];
  CHECK(p.time_us.value == doctest::Approx(4));
  CHECK(p.time_us.low == doctest::Approx(2 + 0.73333 * (4 - 2)));
  CHECK(p.time_us.high == doctest::Approx(8 - 0.73333 * (8 - 5)));
  CHECK(p.rate.low == doctest::Approx(4e9 / 5.8));  // the longest time is the lowest rate
  CHECK(p.rate.high == doctest::Approx(4e9 / 3.46667));
}

TEST_CASE("what is no time is left out; a point without any says so and gives NaN") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 100, {NAN, 2, -1, INFINITY});
  add_point(sweep, 200, {NAN});
  add_point(sweep, 300, {});
  add_point(sweep, 400, {1});
  sweep.samples.back().repeats = 0;
  const auto all = results(sweep);
  CHECK(all[0].trials == 1);
  CHECK(all[0].time_us.value == doctest::Approx(2));
  for (std::size_t i : {1U, 2U, 3U}) {
    CHECK(all[i].trials == 0);
    CHECK(std::isnan(all[i].time_us.value));
    CHECK(std::isnan(all[i].rate.value));
    CHECK(all[i].time_us.method == "no usable trial");
  }
}

TEST_CASE("a time of zero is kept, and gives no rate rather than an infinite one") {
  TransferSeries sweep = sweep_of();
  sweep.limit = {1e9, "by hand"};
  add_point(sweep, 1, {0, 0, 0});
  const TransferResult p = results(sweep)[0];
  CHECK(p.time_us.value == 0);
  CHECK(std::isnan(p.rate.value));
  CHECK(std::isnan(p.percent_of_limit));
  CHECK(p.rate.method.find("coarse") != std::string::npos);
}

TEST_CASE("an interval that reaches zero bounds no rate") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1, {0, 0, 1, 1, 1, 1});
  const TransferResult p = results(sweep)[0];
  CHECK(p.time_us.low == 0);
  CHECK(p.rate.value == doctest::Approx(1e6));
  CHECK(std::isnan(p.rate.low));
  CHECK(std::isnan(p.rate.high));
}

TEST_CASE("no limit, no percentage") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1, {1});
  CHECK(std::isnan(results(sweep)[0].percent_of_limit));
  sweep.limit.per_s = 0;
  CHECK(std::isnan(results(sweep)[0].percent_of_limit));
}

TEST_CASE("bytes that arrived wrong have no rate, however fast they came") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {1, 1, 1});
  sweep.samples.back().intact = 0;
  const TransferResult p = results(sweep)[0];
  CHECK(p.trials == 0);
  CHECK(std::isnan(p.rate.value));
  CHECK(p.time_us.method == "void: the payload arrived wrong");
}

TEST_CASE("points come ordered by bytes, each lane its own") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  add_duplex(sweep, 2000, {1}, {2});
  add_duplex(sweep, 1000, {3}, {4});
  const auto all = results(sweep);
  REQUIRE(all.size() == 4);
  CHECK(all[0].axes.bytes == 1000);
  CHECK(all[0].lane == 0);
  CHECK(all[0].time_us.value == doctest::Approx(3));
  CHECK(all[1].lane == 1);
  CHECK(all[1].time_us.value == doctest::Approx(4));
  CHECK(all[3].axes.bytes == 2000);
  CHECK(all[3].time_us.value == doctest::Approx(2));
}

TEST_CASE("both lanes together take the longer time of each trial, not of each lane") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  sweep.limit = {1e9, "by hand"};
  // 10 repeats of 1000 bytes each way. Longer a trial: 20, 30, 20 us; median 20, so 2 us an operation.
  add_duplex(sweep, 1000, {10, 30, 20}, {20, 10, 10}, 10);
  const auto all = results_of_all_lanes(sweep);
  REQUIRE(all.size() == 1);
  CHECK(all[0].axes.bytes == 1000);
  CHECK(all[0].trials == 3);
  CHECK(all[0].time_us.value == doctest::Approx(2));
  CHECK(all[0].rate.value == doctest::Approx(1e9));       // 2000 bytes in 2 us
  CHECK(all[0].percent_of_limit == doctest::Approx(50));  // of 1 GB/s each way
  CHECK(results_of_all_lanes(sweep_of()).empty());
}

TEST_CASE("two copies inside one memory share its limit; two directions of a link have one each") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  sweep.question = case_on("cudaMemcpy", "cuda:0", Direction::d2d);
  sweep.question.pattern = Pattern::duplex;
  sweep.limit = {1e9, "by hand"};
  add_duplex(sweep, 1000, {2}, {2});
  CHECK(results_of_all_lanes(sweep)[0].percent_of_limit == doctest::Approx(100));
}

TEST_CASE("any number of lanes: each by itself, loads left out, and all that are measured together") {
  TransferSeries sweep = sweep_of();
  sweep.limit = {1e9, "by hand"};
  const auto to = [](const char* device) { return Lane{.source = "host", .target = device}; };
  Lane load = to("cuda:3");
  load.measured = false;
  sweep.question.more_lanes = {to("cuda:1"), load, to("cuda:2")};
  const Visit<Transfers> visit = next_visit(sweep, {1000}, 4);
  for (const auto& [lane, us] : {std::pair{0u, 2.0}, {1u, 4.0}, {2u, 9.0}, {3u, 3.0}})
    sweep.samples.push_back(sample_of(sweep, 0, lane, 1, us));
  sweep.visits.push_back(visit);
  const auto each = results(sweep);
  REQUIRE(each.size() == 3);
  CHECK(each[1].lane == 1);
  CHECK(each[2].lane == 3);
  CHECK(each[2].time_us.value == doctest::Approx(3));
  const auto sum = results_of_all_lanes(sweep);
  REQUIRE(sum.size() == 1);
  CHECK(sum[0].time_us.value == doctest::Approx(4));
  CHECK(sum[0].rate.value == doctest::Approx(750e6));     // 3000 bytes in 4 us
  CHECK(sum[0].percent_of_limit == doctest::Approx(25));  // of three links
}

// All ran while each was timed: 500, 250 and 333 MB/s add up, whichever had the longest time.
TEST_CASE("lanes that are timed on devices: their rates add up, and the slowest does not stand for all") {
  TransferSeries sweep = sweep_of();
  sweep.question.timing = Timing::gated;
  sweep.question.more_lanes = {{.source = "host", .target = "cuda:1"}, {.source = "host", .target = "cuda:2"}};
  const Visit<Transfers> visit = next_visit(sweep, {1000}, 3);
  for (const auto& [lane, us] : {std::pair{0u, 2.0}, {1u, 4.0}, {2u, 3.0}})
    sweep.samples.push_back(sample_of(sweep, 0, lane, 1, us));
  sweep.visits.push_back(visit);
  const auto sum = results_of_all_lanes(sweep);
  REQUIRE(sum.size() == 1);
  CHECK(sum[0].rate.value == doctest::Approx(1000.0 / 2e-6 + 1000.0 / 4e-6 + 1000.0 / 3e-6));
}

TEST_CASE("the limit of lanes between devices is that of those that send, or of those that receive") {
  TransferSeries sweep = sweep_of();
  sweep.question = peer_case("cudaMemcpy", "cuda:0", "cuda:1");
  sweep.question.timing = Timing::gated;
  sweep.question.more_lanes = {{Direction::peer, "cuda:0", "cuda:2"}, {Direction::peer, "cuda:0", "cuda:3"}};
  sweep.limit = {1e9, "by hand"};
  const Visit<Transfers> visit = next_visit(sweep, {1000}, 3);
  for (const std::uint32_t lane : {0u, 1u, 2u}) sweep.samples.push_back(sample_of(sweep, 0, lane, 1, 3));
  sweep.visits.push_back(visit);
  CHECK(results_of_all_lanes(sweep)[0].percent_of_limit == doctest::Approx(100));  // one sends
}

TEST_CASE("a trial that lost a lane is in no sum, and a wrong payload voids the pair") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  add_duplex(sweep, 1000, {10, NAN, 10}, {10, 1, 10});
  add_duplex(sweep, 2000, {10}, {10});
  sweep.samples.back().intact = 0;
  const auto all = results_of_all_lanes(sweep);
  CHECK(all[0].trials == 2);
  CHECK(all[0].time_us.value == doctest::Approx(10));
  CHECK(all[1].trials == 0);
  CHECK(std::isnan(all[1].rate.value));
}

TEST_CASE("a point that claims samples past the table's end takes those there are") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1, {5}).samples = 9;
  CHECK(results(sweep)[0].trials == 1);
  sweep.visits[0].first_sample = 7;
  CHECK(results(sweep)[0].trials == 0);
}

TEST_CASE("of several visits the medians count, but those of disturbed visits do not") {
  TransferSeries sweep = sweep_of();
  for (const double us : {10.0, 11.0, 30.0}) {
    add_point(sweep, 1000, {us, us, us});
    add_point(sweep, 2000, {2 * us});
  }
  auto all = results(sweep);
  REQUIRE(all.size() == 2);
  CHECK(all[0].trials == 9);
  CHECK(all[0].time_us.value == doctest::Approx(11));
  CHECK(all[0].time_us.low < 10);
  CHECK(all[0].time_us.high > 30);
  CHECK(all[0].time_us.method == "median of 3 visits, 95 % interval from Student's t");
  CHECK(all[0].max_us == doctest::Approx(30));
  CHECK(all[0].mean_us == doctest::Approx(17));
  CHECK(all[1].time_us.value == doctest::Approx(22));

  disturb(sweep.visits[4], Cause::host_busy, "python3 (4711)");  // the third of 1000 bytes
  all = results(sweep);
  CHECK(all[0].trials == 6);
  CHECK(all[0].time_us.value == doctest::Approx(10.5));
  CHECK(all[0].max_us == doctest::Approx(11));
  CHECK(all[0].disturbed.empty());
  CHECK(all[1].trials == 3);
  CHECK(disturbers_of(points_of(sweep)[0]).empty());
}

TEST_CASE("where more than half of the visits were disturbed all of them count, and the point is disturbed") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {10});
  add_point(sweep, 1000, {20});
  disturb(sweep.visits[1], Cause::link_busy, "python3 (4711)");
  CHECK(results(sweep)[0].disturbed.empty());
  CHECK(results(sweep)[0].time_us.value == doctest::Approx(10));
  CHECK(results(sweep)[0].time_us.method == "median of one visit; too few trials for an interval");
  // A device that throttles does that by itself: such visits count without those that others disturbed.
  sweep.visits[0].telemetry.throttle_reasons = 4;
  CHECK(results(sweep)[0].time_us.value == doctest::Approx(10));
  CHECK(results(sweep)[0].disturbed == "the device held its clocks back");
  CHECK(disturbers_of(points_of(sweep)[0]).empty());
  disturb(sweep.visits[0], Cause::link_busy, "");
  const TransferResult p = results(sweep)[0];
  CHECK(p.trials == 2);
  CHECK(p.time_us.value == doctest::Approx(15));
  CHECK(p.disturbed ==
        "others' bytes went over the link, the device held its clocks back; most of all by python3 (4711)");
  CHECK(disturbers_of(points_of(sweep)[0]) == std::set<std::string>{"python3 (4711)"});
}

TEST_CASE("of many who disturbed a run, the text names three, and a kernel's threads once") {
  const auto text = [](const std::set<std::string>& by) {
    return disturbance_text(static_cast<std::uint32_t>(Cause::host_busy), by);
  };
  const std::string before = "others used the host's processors; most of all by ";
  CHECK(text({"migration/0 (18)", "migration/11 (71)", "python3 (12)", "python3 (4711)"}) ==
        before + "migration (2 of them), python3 (12), python3 (4711)");
  CHECK(text({"migration/0 (18)"}) == before + "migration/0 (18)");
  CHECK(text({"a (1)", "b (2)", "c (3)", "d (4)", "e (5)"}) == before + "a (1), b (2), c (3), and 2 more");
  CHECK(text({}) == "others used the host's processors");
  CHECK(disturbance_text(0, {"a (1)"}).empty());
}

TEST_CASE("a point is as far as its last visit left it, and wrong in any visit is wrong") {
  TransferSeries sweep = sweep_of();
  add_point(sweep, 1000, {10}).stop = Stop::not_converged;
  add_point(sweep, 1000, {10}).stop = Stop::converged;
  CHECK(results(sweep)[0].stop == Stop::converged);
  disturb(sweep.visits[0], Cause::host_busy);
  sweep.samples[0].intact = 0;  // of the visit that does not count
  CHECK(results(sweep)[0].time_us.method == "void: the payload arrived wrong");
}

TEST_CASE("lanes are put together trial by trial of each visit") {
  TransferSeries sweep = sweep_of(Pattern::duplex);
  add_duplex(sweep, 1000, {10}, {9});
  add_duplex(sweep, 1000, {20}, {30});
  auto sum = results_of_all_lanes(sweep);
  REQUIRE(sum.size() == 1);
  CHECK(sum[0].trials == 2);
  CHECK(sum[0].time_us.value == doctest::Approx(20));  // in the middle of 10 and 30
  disturb(sweep.visits[1], Cause::device_busy);
  sum = results_of_all_lanes(sweep);
  CHECK(sum[0].trials == 1);
  CHECK(sum[0].time_us.value == doctest::Approx(10));
  CHECK(sum[0].disturbed.empty());
}

// Jobs in streams, summarized: numbers that add up by hand.

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

}  // namespace summary_test
