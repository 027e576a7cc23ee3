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
}

}  // namespace messages_test
