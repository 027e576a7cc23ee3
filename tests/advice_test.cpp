// What is advised, with jobs whose times can be added up by hand.
#include "npgpu/advice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "npgpu/error.hpp"
#include "tests/made_jobs.hpp"

namespace advice_test {

using namespace npgpu;

namespace {

constexpr std::uint64_t line = 128;
// 4.096 ms in, as long out.
const Job copies{.in_bytes = 4'096'000, .out_bytes = 4'096'000};

Forecast forecast_of(const Job& job, const MeasuredCosts& m, std::uint32_t most = 32) {
  return forecast(job, m, Order::breadth_first, stream_counts(most), Parts::some);
}

SplitTime split(std::uint32_t chunks, std::uint32_t streams, double us) {
  SplitTime s{chunks, streams};
  s.run.total = from_microseconds(us);
  return s;
}

}  // namespace

TEST_CASE("buffers: one for a chunk's bytes in and one for its bytes out, for each stream; never more than the job") {
  const Job job{.in_bytes = 1000 * line, .out_bytes = 10 * line};
  const Buffers whole = buffers_of(job, 1, 1);
  CHECK(whole.in_bytes == 1000 * line);
  CHECK(whole.out_bytes == 10 * line);
  CHECK(whole.all_bytes == 1010 * line);
  const Buffers cut = buffers_of(job, 10, 10);
  CHECK(cut.in_bytes == 100 * line);
  CHECK(cut.out_bytes == line);
  CHECK(cut.all_bytes == 1010 * line);
  const Buffers in_turn = buffers_of(job, 10, 2);
  CHECK(in_turn.all_bytes == 2 * 101 * line);
  // What does not divide goes into the largest chunk, in whole lines.
  CHECK(buffers_of({.in_bytes = 1000}, 3, 1).in_bytes == 3 * line);
  CHECK(buffers_of({.in_bytes = 1000}, 3, 1).out_bytes == 0);
}

TEST_CASE("chunks in turn: a stream's next chunk waits for its last one's copy out") {
  // Four chunks of 1.024 ms each way in two streams: two copies in, then in and out in turn, five times as long.
  const auto run = simulate_total(copies, 4, plain_costs().costs, Order::depth_first, 2);
  CHECK(microseconds(run.total) == doctest::Approx(5 * 1024));
  const auto all = chunks_in_turn(copies, plain_costs().costs, 4'096'000, 8);
  REQUIRE(!all.empty());
  for (const SplitTime& s : all) {
    CHECK(buffers_of(copies, s.chunks, s.streams).all_bytes <= 4'096'000);
    CHECK(s.chunks > s.streams);
    CHECK(s.chunks % s.streams == 0);
    CHECK(s.streams <= 8);
    CHECK(s.order == Order::depth_first);
    CHECK(s.run.total == simulate_total(copies, s.chunks, plain_costs().costs, Order::depth_first, s.streams).total);
  }
  // One stream does one thing at a time, whatever its chunks.
  const auto serial = std::find_if(all.begin(), all.end(), [](const SplitTime& s) { return s.streams == 1; });
  REQUIRE(serial != all.end());
  CHECK(microseconds(serial->run.total) == doctest::Approx(2 * 4096));
  CHECK(chunks_in_turn(copies, plain_costs().costs, 2 * line - 1, 8).empty());
  CHECK(chunks_in_turn(copies, plain_costs().costs, 2 * line, 8).size() == 1);  // a line each way at a time
}

TEST_CASE("the fewest streams within 1 % of the fastest, and of the least memory") {
  const std::vector<SplitTime> all{split(1, 1, 200), split(2, 2, 102), split(4, 4, 100.9), split(8, 8, 100),
                                   split(64, 3, 100.5)};
  CHECK(fastest(all).streams == 8);
  CHECK(fewest_streams(all).streams == 3);
  CHECK(fewest_streams(all, 0.03).streams == 2);
  CHECK(advised_streams(all).streams == 4);  // a power of two
  CHECK(advised_streams(std::vector<SplitTime>{split(2, 2, 102), split(5, 5, 100.5), split(6, 6, 100)}).streams == 5);
  CHECK(fewest_streams(all, 0).streams == 8);
  const Job job{.in_bytes = 6400 * line};
  CHECK(least_memory(job, all, Seconds{100e-6}, 0.01)->chunks == 64);
  CHECK(least_memory(job, all, Seconds{100e-6}, 0.001)->chunks == 8);
  CHECK_FALSE(least_memory(job, all, Seconds{90e-6}, 0.01));
}

TEST_CASE("without a limit the advice is a chunk in each stream, and the lean way beside it takes less memory") {
  const MeasuredCosts m = plain_costs(Seconds{10e-6});
  const Forecast f = forecast_of(copies, m);
  const Advice a = advise(copies, m, Order::breadth_first, f, ModelErrors{}, {}, 32);
  CHECK(a.best.streams == f.prediction.streams);
  CHECK(a.advised.streams < a.best.streams);
  CHECK(std::has_single_bit(a.advised.streams));
  CHECK(a.advised.chunks == a.advised.streams);
  CHECK(a.advised.run.total <= 1.01 * f.prediction.time);
  const auto fewer = std::find_if(f.prediction.candidates.begin(), f.prediction.candidates.end(),
                                  [&](const StreamTime& one) { return one.streams == a.advised.streams / 2; });
  REQUIRE(fewer != f.prediction.candidates.end());
  CHECK(fewer->run.total > 1.01 * f.prediction.time);
  CHECK_FALSE(a.in_turn());
  REQUIRE(a.lean);
  CHECK(buffers_of(copies, a.lean->chunks, a.lean->streams).all_bytes < 8'192'000 / 2);
  CHECK(a.lean->run.total <= 1.01 * f.prediction.time);
  CHECK_FALSE(a.error);
  CHECK_FALSE(a.graph);  // its costs are not known
}

TEST_CASE("a limit that the whole job keeps changes nothing; one that it does not keep makes chunks take turns") {
  const MeasuredCosts m = plain_costs(Seconds{10e-6});
  const Forecast f = forecast_of(copies, m);
  const Advice enough = advise(copies, m, Order::breadth_first, f, ModelErrors{}, 8'192'000, 32);
  CHECK_FALSE(enough.in_turn());
  const Advice tight = advise(copies, m, Order::breadth_first, f, ModelErrors{}, 1'000'000, 32);
  CHECK(tight.in_turn());
  CHECK(tight.advised.order == Order::depth_first);
  CHECK(buffers_of(copies, tight.advised.chunks, tight.advised.streams).all_bytes <= 1'000'000);
  CHECK(tight.advised.streams <= tight.best.streams);
  CHECK(tight.advised.run.total <= 1.01 * tight.best.run.total);
  CHECK(tight.best.run.total >= f.prediction.time);
  try {
    advise(copies, m, Order::breadth_first, f, ModelErrors{}, 100, 32);
    FAIL("100 B held a chunk");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("100 B of device memory") == 0);
  }
}

TEST_CASE("the error is that of measured jobs as long as this one in one stream") {
  ModelErrors errors{"jobs of mine"};
  errors.classes = {{0, 1000, 3, {0.1, 0.2, 0.3}}, {1000, 9000, 7, {0.01, 0.02, 0.03}}, {9000, 20000, 0, {}}};
  const MeasuredCosts m = plain_costs();
  const auto error_of = [&](const Job& job) {
    return advise(job, m, Order::breadth_first, forecast_of(job, m), errors, {}, 32);
  };
  const Advice a = error_of(copies);  // 8192 us in one stream
  REQUIRE(a.error);
  CHECK(a.error->workloads == 7);
  CHECK(a.error_source == "jobs of mine");
  CHECK(error_of({.in_bytes = 100'000, .out_bytes = 100'000}).error->workloads == 3);
  CHECK_FALSE(error_of({.in_bytes = 10'000'000, .out_bytes = 1'000}).error);  // none was measured
}

TEST_CASE("measured jobs with chunks in turn: each against the simulator, with the kernel of the unsplit job") {
  JobSeries series = jobs_of();
  series.question.order = Order::depth_first;
  const auto add = [&](std::uint32_t chunks, std::uint32_t streams, double us) {
    add_job(series, split_job(4'096'000, chunks, streams), {us, us, us});
  };
  add(1, 2, 2 * 4096 + 1000);  // a kernel of 1 ms
  add(4, 4, 6000);             // a chunk in each stream: in no such error
  const MeasuredCosts m = plain_costs();
  const Job job{.in_bytes = 4'096'000, .out_bytes = 4'096'000, .kernel = Seconds{1e-3}};
  const double us = microseconds(simulate_total(job, 4, m.costs, Order::depth_first, 2).total);
  add(4, 2, us / 1.1);
  Trace trace;
  trace.of<Jobs>() = {series};
  const auto splits = predict_in_turn(trace, m);
  REQUIRE(splits.size() == 1);
  CHECK(splits[0].chunks == 4);
  CHECK(splits[0].streams == 2);
  CHECK(splits[0].predicted_us == doctest::Approx(us));
  CHECK(splits[0].measured_us == doctest::Approx(us / 1.1));
  trace.of<Jobs>()[0].question.order = Order::breadth_first;  // buffers would not take turns
  CHECK(predict_in_turn(trace, m).empty());
}

}  // namespace advice_test
