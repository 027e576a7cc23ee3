// Rulings, references and messages.
#include "netpipe/judge/judge.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "netpipe/judge/health/references.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/units.hpp"
#include "tests/made_sweep.hpp"

namespace judge_test {

using namespace npgpu;
using namespace npgpu::model;

// The rule by which every figure is judged, by hand.

namespace {

Estimate from(double value, double low, double high) { return {value, low, high, {}, {}}; }

}  // namespace

TEST_CASE("the whole interval decides, in either direction") {
  CHECK(rule(from(55, 52, 56), npgpu::model::Allowed::at_least, 50) == Ruling::ok);
  CHECK(rule(from(55, 49, 56), npgpu::model::Allowed::at_least, 50) == Ruling::undecided);
  CHECK(rule(from(45, 44, 51), npgpu::model::Allowed::at_least, 50) == Ruling::undecided);
  CHECK(rule(from(45, 44, 49), npgpu::model::Allowed::at_least, 50) == Ruling::slow);
  CHECK(rule(from(3, 2, 4), npgpu::model::Allowed::at_most, 5) == Ruling::ok);
  CHECK(rule(from(3, 2, 6), npgpu::model::Allowed::at_most, 5) == Ruling::undecided);
  CHECK(rule(from(8, 6, 9), npgpu::model::Allowed::at_most, 5) == Ruling::slow);
}

TEST_CASE("a value without an interval is never slow") {
  CHECK(rule(from(30, not_measured, not_measured), npgpu::model::Allowed::at_least, 50) == Ruling::undecided);
  CHECK(rule(from(55, not_measured, not_measured), npgpu::model::Allowed::at_least, 50) == Ruling::ok);
}

TEST_CASE("what is no figure, or has no limit, is neither ok nor slow") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double none : {0.0, -1.0, inf, -inf, not_measured}) {
    CHECK(rule(from(none, none, none), npgpu::model::Allowed::at_least, 50) == Ruling::no_figure);
    CHECK(rule(from(55, 54, 56), npgpu::model::Allowed::at_least, none) == Ruling::no_limit);
  }
}

TEST_CASE("visits that reach the limit speak for a figure whose interval holds it") {
  const Estimate wide = from(54, 40, 56);
  const auto ruled = [&](std::size_t within, std::size_t beyond) {
    std::vector<double> visits(within, 54.0);
    visits.insert(visits.end(), beyond, 41.0);
    return rule(wide, npgpu::model::Allowed::at_least, 50, visits);
  };
  // If only a quarter of all visits reached it, then 3 of 3 had a chance of 1/64 = 1.6 %, 2 of 2 one of 6.3 %; 4 of 6
  // of 3.8 %, 5 of 6 of 0.5 %; 5 of 9 of 4.9 %, 6 of 9 of 1.0 %.
  CHECK(ruled(3, 0) == Ruling::ok);
  CHECK(ruled(2, 0) == Ruling::undecided);
  CHECK(ruled(4, 2) == Ruling::undecided);
  CHECK(ruled(5, 1) == Ruling::ok);
  CHECK(ruled(5, 4) == Ruling::undecided);
  CHECK(ruled(6, 3) == Ruling::ok);
  CHECK(ruled(0, 20) == Ruling::undecided);
  CHECK(rule(from(41, 40, 42), npgpu::model::Allowed::at_least, 50, std::vector<double>(20, 41.0)) == Ruling::slow);
  CHECK(rule(from(6, 3, 9), npgpu::model::Allowed::at_most, 5, std::vector<double>{4, 4, 4}) == Ruling::ok);
  // Half of the visits reach it, and the figure is more than twice as bad: certain in neither way.
  const std::vector<double> halves = [] {
    std::vector<double> visits(10, 54.0);
    visits.insert(visits.end(), 11, 10.0);
    return visits;
  }();
  CHECK(rule(from(10, 10, 54), npgpu::model::Allowed::at_least, 50, halves) == Ruling::undecided);
  CHECK(rule(from(10, 9, 11), npgpu::model::Allowed::at_least, 50, halves) == Ruling::undecided);
  CHECK(rule(from(26, 25, 54), npgpu::model::Allowed::at_least, 50, halves) == Ruling::ok);
  CHECK(rule(from(12, 3, 13), npgpu::model::Allowed::at_most, 5, std::vector<double>{4, 4, 4}) == Ruling::undecided);
}

TEST_CASE("how many of so many are more than chance") {
  // Of 9 of which a quarter is usual, 7 and more come with a chance of 0.13 %, 8 and more of 0.011 %.
  using npgpu::model::least_beyond_chance;
  CHECK(least_beyond_chance(9, 0.25) == 8);
  CHECK(least_beyond_chance(24, 0.25) == 14);
  CHECK(least_beyond_chance(1000, 0.25) == 294);
  CHECK(least_beyond_chance(5, 0.25) == 5);  // 1/1024
  CHECK(least_beyond_chance(4, 0.25) == 5);  // 1/256: all four may be chance
  CHECK(least_beyond_chance(9, 0.1) == 5);
  CHECK(least_beyond_chance(1, 0.01) == 2);
  CHECK(least_beyond_chance(2, 0.01) == 2);
  CHECK(least_beyond_chance(0, 0.25) == 1);
}

// Figures of healthy GPUs that ship with the program.

TEST_CASE("a reference is of GPUs of one name") {
  REQUIRE(reference_of_model("NVIDIA H200"));
  CHECK(reference_of_model("NVIDIA H200")->model == "H200");
  REQUIRE(reference_of_model("NVIDIA H100 80GB HBM3"));
  CHECK(reference_of_model("NVIDIA H100 80GB HBM3")->model == "H100");
  // Forms of a model have other memory, power and clocks; parts of a GPU have less of all.
  for (const char* name :
       {"NVIDIA H200 NVL", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""})
    CHECK(reference_of_model(name) == nullptr);
  CHECK(reference_of_model("NVIDIA GH200 480GB") == nullptr);
  CHECK(reference_of_model("NVIDIA A1000") == nullptr);
  CHECK(reference_text("NVIDIA H200").find("healthy H200s") != std::string::npos);
  CHECK(reference_text("NVIDIA A1000").empty());
}

TEST_CASE("every shipped figure lies between those that it was made from, and its tolerance covers them") {
  for (const ModelReference& one : model_references()) {
    CHECK(one.cards >= 2);
    CHECK(one.figures.size() > 10);
    for (const ReferenceFigure& figure : one.figures) CHECK(figure.tolerance < 0.4);
  }
}

TEST_CASE("what is no reference is refused") {
  for (const char* json : {"", "[]", "{}", R"({"document": "npgpu-reference", "version": 2})",
                           R"({"document": "npgpu-reference", "version": 1, "model": "X", "name": "X"})",
                           R"({"document": "npgpu-reference", "version": 1, "model": "X", "name": "X",
                               "figures": [{"metric": "h2d_rate", "value": -1, "unit": "B/s", "tolerance": 0.1}]})"})
    CHECK_THROWS_AS(read_model_reference(json), Error);
}

// What a trace of a rank says of staged messages.

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

}  // namespace judge_test
