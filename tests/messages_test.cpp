// What a trace of a rank says of staged messages.
#include "npgpu/messages.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/made_sweep.hpp"

namespace messages_test {

using namespace npgpu;

namespace {

TransferSeries staged(std::uint64_t chunk, double us) {
  TransferSeries series = sweep_of(Pattern::stream);
  TransferCase& c = series.question;
  c.module = "mpi", c.source = "host@0", c.target = "host@1", c.direction = Direction::h2h;
  c.memory = Memory::pageable, c.access = Access::staged, c.chunk_bytes = chunk;
  add_point(series, 64 * KiB, {us, us, us});
  return series;
}

}  // namespace

TEST_CASE("what a stage costs reads back as it was written") {
  const StageCost stage{.curve = {{4096, Seconds{1.5e-6}}, {65536, Seconds{2e-5}}}, .worker = 2};
  CHECK(stage_text(stage) == "worker 2: 4096 1.5 65536 20");
  const auto read = parse_stage(stage_text(stage));
  REQUIRE(read);
  CHECK(read->worker == 2);
  REQUIRE(read->curve.size() == 2);
  CHECK(read->curve[1].bytes == 65536);
  CHECK(read->curve[1].time.count() == doctest::Approx(2e-5));
  CHECK(extent_of(1) == 16384);
  CHECK(extent_of(16384) == 16384);
  CHECK(extent_of(16385) == 65536);
  CHECK(stage_fact(1, extent_of(65536), 0) == "rank1_extent65536_stage0_us");
  for (const char* wrong : {"", "worker", "worker 1:", "worker 1: 4096", "worker 1: 8 1 4 1", "worker 1: 8 -1",
                            "worker 1: 8 x", "worker 1 8 1"})
    CHECK_FALSE(parse_stage(wrong).has_value());
}

TEST_CASE("how a chunk was chosen reads back as it was written") {
  const ChunkChoice choice{16384, 32768, {{16384, Seconds{41.5e-6}}, {32768, Seconds{38e-6}}}};
  CHECK(choice_text(choice) == "advised 16384, taken 32768: 16384 41.5 32768 38");
  CHECK(choice_text({8, 8}) == "advised 8, taken 8");
  const auto read = parse_choice(choice_text(choice));
  REQUIRE(read);
  CHECK(read->advised == 16384);
  CHECK(read->taken == 32768);
  REQUIRE(read->tried.size() == 2);
  CHECK(microseconds(read->tried[1].least) == doctest::Approx(38));
  CHECK(parse_choice("advised 8, taken 8")->tried.empty());
  CHECK(chunk_fact(1, Pattern::pingpong, 65536) == "rank1_pingpong65536_chunk");
  for (const char* wrong : {"", "advised 8", "advised 8, taken", "advised 8, taken 0", "advised 8, taken 8 9 10",
                            "advised 8, taken 8: 9", "advised 8, taken 8: 9 x", "advised 8; taken 8"})
    CHECK_FALSE(parse_choice(wrong).has_value());
}

TEST_CASE("the advised chunk of each size, its time, and the best of the others that were measured") {
  Trace trace;
  trace.of<Transfers>() = {staged(0, 42), staged(4096, 80), staged(16384, 40), staged(MiB, 60)};
  CHECK(staged_messages(trace).empty());  // nothing says what the stages cost
  // Two workers, each 10 us a chunk and 10 us for 16 KiB.
  const std::string cost = "0 10 16384 20";
  trace.provenance = {{"ranks_after",
                       {{"rank", std::int64_t{0}},
                        {"rank1_extent65536_stage0_us", "worker 0: " + cost},
                        {"rank1_extent65536_stage1_us", "worker 1: " + cost}}}};
  const auto all = staged_messages(trace);
  REQUIRE(all.size() == 1);
  CHECK(all[0].target == "host@1");
  REQUIRE(all[0].sizes.size() == 1);
  const StagedSize& size = all[0].sizes[0];
  // n chunks: (n + 1) (10 + 40/n) us is least at n = 2: 90 us, in chunks of 32 KiB.
  CHECK(size.chunk == 32 * KiB);
  CHECK(size.predicted_us == doctest::Approx(90));
  CHECK(size.advised_us == doctest::Approx(42));
  CHECK(size.best_chunk == 16384);
  CHECK(size.best_us == doctest::Approx(40));
  CHECK(size.regret() == doctest::Approx(0.05));
  CHECK(size.taken_chunk == 0);

  // What the run wrote down counts: what was advised then, and what was taken after trials.
  const auto noted = [&] {
    trace.provenance.push_back({"ranks_chunks", {{"rank1_stream65536_chunk", "advised 16384, taken 65536: 16384 9"}}});
    return staged_messages(trace).at(0).sizes.at(0);
  }();
  CHECK(noted.chunk == 16384);
  CHECK(noted.taken_chunk == 65536);
  CHECK(noted.predicted_us == doctest::Approx((4 + 1) * 20));
  // Of a run that was stopped there is that alone.
  trace.provenance = {{"ranks", {{"rank", std::int64_t{0}}}}, trace.provenance.back()};
  CHECK(staged_messages(trace).at(0).sizes.at(0).taken_chunk == 65536);
  CHECK(!(staged_messages(trace)[0].sizes[0].predicted_us > 0));
}

}  // namespace messages_test
