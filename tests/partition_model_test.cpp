// Models of partitions and of pieces.
#include "partition_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "npgpu/model/advice.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace partition_model_test {

using namespace npgpu;
using models::partition::paper;
using models::partition::tau_ms;

// The tables of Veneva & Imamura 2025 from their own equations.

namespace {

using Row = std::vector<double>;

// Comments, a heading, then numbers.
std::vector<Row> table(const std::string& name) {
  std::ifstream file(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/papers" / name);
  std::vector<Row> rows;
  bool heading = true;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (!std::exchange(heading, false)) {
      rows.emplace_back();
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stod(cell));
    }
  }
  return rows;
}

constexpr std::uint32_t powers[] = {1, 2, 4, 8, 16, 32};

// A size whose overheads are those of the paper's form.
PartitionRow row_of(std::uint64_t size, double sum, const std::vector<std::uint32_t>& streams) {
  PartitionRow row;
  row.size = size;
  row.sum_us = sum;
  row.streams = streams;
  for (const std::uint32_t n : streams) row.overhead_us.push_back(paper.overhead(static_cast<double>(size), n));
  return row;
}

}  // namespace

TEST_CASE("Table I: what overlaps adds up, and the cost of creation allows sqrt(sum/tau) streams") {
  const auto rows = table("003_table1_overlapped.csv");
  REQUIRE(rows.size() == 5);
  for (const Row& r : rows) {
    CHECK(std::abs(r[1] + r[2] + r[3] + r[4] - r[5]) < 5e-7);
    CHECK(std::abs(creation_optimum(r[5], tau_ms) - r[6]) <= 0.051);  // printed to one decimal
  }
  // (4) is a straight line through large sizes and misses small ones: -43 % at 4e3, -28 % at 4e4, -7.4 % at 4e5.
  CHECK(paper.sum(4e3) / rows[0][5] - 1 == doctest::Approx(-0.43).epsilon(0.02));
  CHECK(paper.sum(4e4) / rows[1][5] - 1 == doctest::Approx(-0.28).epsilon(0.02));
  CHECK(paper.sum(4e5) / rows[2][5] - 1 == doctest::Approx(-0.074).epsilon(0.02));
}

TEST_CASE("Table II: overhead and gain are (5) and its inverse, exactly as printed") {
  const auto rows = table("003_table2_size_1e6.csv");
  REQUIRE(rows.size() == 5);
  for (const Row& r : rows) {
    const double overhead = partition_overhead(r[1], r[2], r[3], r[0]), hidden = (r[0] - 1) / r[0] * r[3];
    CHECK(std::abs(overhead - r[4]) < 5.1e-7);
    CHECK(std::abs(hidden - overhead - r[5]) < 5.1e-7);
    CHECK(r[2] - (hidden - overhead) == doctest::Approx(r[1]).epsilon(1e-12));  // (2) less (1)
  }
}

TEST_CASE("Table IV: all 25 predictions, if one stream is judged by the same equation") {
  const auto rows = table("003_table4_optimum.csv");
  REQUIRE(rows.size() == 25);
  int with_one = 0, without_one = 0, as_measured = 0;
  for (const Row& r : rows) {
    const auto predicted = paper.optimum(r[0], powers);
    with_one += predicted == r[2];
    as_measured += predicted == r[1];
    without_one += paper.optimum(r[0], std::span(powers).subspan(1)) == r[2];
  }
  CHECK(with_one == 25);
  CHECK(without_one == 24);
  CHECK(as_measured == 23);
  CHECK(paper.overhead(1000, 1) < 0);  // which is why
}

TEST_CASE("candidates are powers of two: whole numbers would choose otherwise") {
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 1; n <= 32; ++n) all.push_back(n);
  CHECK(paper.optimum(4e6, powers) == 32);
  CHECK(paper.optimum(4e6, all) == 24);
}

TEST_CASE("regressions find the coefficients that times were made with, and how good they are") {
  std::vector<PartitionRow> rows;
  for (const std::uint64_t size : {1'000, 10'000, 100'000, 1'000'000, 4'000'000, 10'000'000, 100'000'000})
    rows.push_back(row_of(size, paper.sum(static_cast<double>(size)), {1, 2, 4, 8, 32}));
  const PartitionRegressions exact = regressions_of(rows);
  for (double PartitionRegressions::*one :
       {&PartitionRegressions::sum_slope, &PartitionRegressions::sum_start, &PartitionRegressions::small_size,
        &PartitionRegressions::small_log, &PartitionRegressions::small_start, &PartitionRegressions::big_size,
        &PartitionRegressions::big_log, &PartitionRegressions::big_start})
    CHECK(exact.*one == doctest::Approx(paper.*one).epsilon(1e-9));
  CHECK(exact.sum_quality.rows == 7);
  CHECK(exact.small_quality.rows == 16);
  CHECK(exact.big_quality.rows == 12);
  CHECK(exact.sum_quality.r2 == doctest::Approx(1));
  // Residuals of +1 and -1 in turn at four sizes leave a mean square below 1, and a line that is nearly the same.
  double sign = 1;
  for (PartitionRow& row : rows)
    for (std::size_t i = 1; i < row.overhead_us.size(); ++i) row.overhead_us[i] += sign, sign = -sign;
  const RegressionQuality noisy = regressions_of(rows).small_quality;
  CHECK(noisy.mse > 0.5);
  CHECK(noisy.mse <= 1);
  CHECK(noisy.rmse == doctest::Approx(std::sqrt(noisy.mse)));
  CHECK(noisy.r2 < 1);
  // One is left out: its rows are in no form, and the others' say what they said.
  CHECK(regressions_of(rows, &rows[0]).sum_quality.rows == 6);
  CHECK(regressions_of(rows, &rows[0]).small_quality.rows == 12);
}

TEST_CASE("what cannot be fitted gives no answer") {
  const std::vector<PartitionRow> one{row_of(1'000'000, 2.4, {1, 2, 4})};
  const PartitionRegressions none = regressions_of(one);
  CHECK(std::isnan(none.sum_slope));
  CHECK_FALSE(none.optimum(1e6, powers));
  // Sums of two sizes, overheads of small ones only: nothing is said of large ones.
  const std::vector<PartitionRow> two{row_of(1'000, 0.2, {1, 2, 4}), row_of(1'000'000, 2.4, {1, 2, 4})};
  const PartitionRegressions half = regressions_of(two);
  CHECK(half.optimum(1e6, powers));
  CHECK_FALSE(half.optimum(1e7, powers));
  // Two sizes in two streams only: nothing is said of overheads.
  const std::vector<PartitionRow> flat{row_of(1'000, 0.2, {1, 2}), row_of(1'000'000, 2.4, {1, 2})};
  CHECK(std::isfinite(regressions_of(flat).sum_slope));
  CHECK(std::isnan(regressions_of(flat).small_size));
}

// Which way is first, on times that a reader can add up, and what is said of points between them.
namespace piece_advice {

namespace {

struct Costs {
  PieceWay way = PieceWay::loop;
  double call = 0, piece = 0, byte = 0;  // us
  double of(double pieces, double bytes) const { return call + pieces * (piece + byte * bytes); }
};
const std::vector<Costs> ways{{PieceWay::loop, 1, 2, 1e-4},  // good for few
                              {PieceWay::batch, 5, 0.5, 1e-4},
                              {PieceWay::kernel, 8, 0.01, 1.5e-4}};  // good for many small ones

// Six visits, whose rounds differ by 10 % in all ways alike, and by `scatter` in each.
Trace trace_of(const std::vector<std::uint32_t>& numbers, const std::vector<std::uint64_t>& sizes, double scatter = 0) {
  Trace trace;
  PieceSeries& series = trace.of<Pieces>().emplace_back();
  series.question.device = "sim:x";
  int seed = 0;
  for (const std::uint32_t n : numbers)
    for (const std::uint64_t bytes : sizes)
      for (const Costs& costs : ways)
        for (std::uint32_t round = 0; round < 6; ++round) {
          Visit<Pieces> visit;
          visit.axes = {n, bytes, costs.way};
          visit.round = round;
          visit.work = static_cast<double>(n * bytes);
          visit.first_sample = series.samples.size();
          visit.samples = 1;
          series.visits.push_back(visit);
          PieceSample sample;
          sample.visit = static_cast<std::uint32_t>(series.visits.size() - 1);
          sample.intact = 1;
          sample.repeats = 2;
          const double own = 1 + scatter * (seed++ * 7 % 11 - 5) / 5.0;
          sample.done_us = 2 * costs.of(n, static_cast<double>(bytes)) * (0.95 + 0.02 * round) * own;
          sample.host_us = sample.done_us / 2;
          series.samples.push_back(sample);
        }
  return trace;
}

const PieceRow& row_of(const PieceTable& table, std::uint32_t pieces, std::uint64_t bytes) {
  for (const PieceRow& row : table.rows)
    if (row.pieces == pieces && row.piece_bytes == bytes) return row;
  throw Error(ErrorKind::failed, "no row");
}

}  // namespace

TEST_CASE("the fastest way, and by how much: what slows a whole round counts for none") {
  const auto tables = piece_tables(trace_of({1, 100}, {1000, 100'000}));
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].ways() == std::vector{PieceWay::loop, PieceWay::batch, PieceWay::kernel});
  // One piece of 1000 bytes: 3.1, 5.6 and 8.16 us.
  const PieceRow& one = row_of(tables[0], 1, 1000);
  REQUIRE(one.ways.size() == 3);
  CHECK(one.ways[0].way == PieceWay::loop);
  CHECK(one.ways[0].time_us.value == doctest::Approx(3.1));
  CHECK(one.is_decided());
  CHECK(one.ways[1].way == PieceWay::batch);
  CHECK(one.ways[1].over_fastest.value == doctest::Approx(5.6 / 3.1 - 1));
  CHECK(one.ways[1].over_fastest.low == doctest::Approx(5.6 / 3.1 - 1));  // although times scatter by 10 %
  CHECK(one.ways[1].host_us.value == doctest::Approx(2.8));
  CHECK(row_of(tables[0], 100, 1000).ways[0].way == PieceWay::kernel);
  CHECK(row_of(tables[0], 100, 100'000).ways[0].way == PieceWay::batch);
}

TEST_CASE("ways whose rounds scatter by more than they differ cannot be told apart") {
  // 100 pieces of 10,000 bytes: batch 155, kernel 159 us, loop 301.
  const auto tables = piece_tables(trace_of({100}, {10'000}, 0.2));
  const PieceRow& row = tables.at(0).rows.at(0);
  CHECK_FALSE(row.is_decided());
  CHECK(row.of(PieceWay::batch)->is_as_fast);
  CHECK(row.of(PieceWay::kernel)->is_as_fast);
  CHECK_FALSE(row.of(PieceWay::loop)->is_as_fast);
}

TEST_CASE("ways that share no two rounds are told apart by their own intervals") {
  Trace trace = trace_of({100}, {1000});
  PieceSeries& series = trace.of<Pieces>()[0];
  for (Visit<Pieces>& visit : series.visits)
    if (visit.axes.way == PieceWay::loop) visit.round += 5;  // one is left that the others have, too
  const PieceRow row = piece_tables(trace).at(0).rows.at(0);
  CHECK(row.ways[0].way == PieceWay::kernel);
  const WayTime& loop = *row.of(PieceWay::loop);
  CHECK_FALSE(loop.is_as_fast);
  CHECK(loop.over_fastest.value == doctest::Approx(211.0 / 24 - 1));
  CHECK(loop.over_fastest.low < loop.over_fastest.value);
  CHECK(loop.over_fastest.high > loop.over_fastest.value);
}

TEST_CASE("a wrong piece makes its way unusable at that point") {
  Trace trace = trace_of({1}, {1000});
  trace.of<Pieces>()[0].samples[0].intact = 0;  // loop
  const PieceRow row = piece_tables(trace).at(0).rows.at(0);
  CHECK(row.of(PieceWay::loop) == nullptr);
  CHECK(row.ways[0].way == PieceWay::batch);
  CHECK(row.unusable == std::vector<std::string>{"loop: the pieces were wrong"});
}

TEST_CASE("between measured points a call, a part a piece and a part a byte are found exactly") {
  const auto tables = piece_tables(trace_of({1, 8, 64, 512, 4096}, {256, 4096, 65536, 1048576}));
  for (const std::uint32_t n : {1u, 3u, 100u, 700u, 4096u, 20'000u})
    for (const std::uint64_t bytes : {256ull, 1000ull, 30'000ull, 2'000'000ull}) {
      CAPTURE(n);
      CAPTURE(bytes);
      const PieceAdvice advice = advise_pieces(tables[0], n, bytes);
      REQUIRE(advice.ways.size() == 3);
      double best = INFINITY;
      for (const Costs& costs : ways) best = std::min(best, costs.of(n, static_cast<double>(bytes)));
      CHECK(advice.ways[0].time_us.value == doctest::Approx(best));
      for (const WayTime& way : advice.ways)
        for (const Costs& costs : ways)
          if (costs.way == way.way)
            CHECK(way.time_us.value == doctest::Approx(costs.of(n, static_cast<double>(bytes))));
      CHECK(advice.notes.empty());
    }
}

TEST_CASE("where many large pieces were not measured, lines go on from fewer pieces of that size") {
  Trace trace = trace_of({1, 8, 64, 512}, {256, 65536});
  PieceSeries& series = trace.of<Pieces>()[0];
  std::erase_if(series.visits, [](const auto& visit) { return visit.axes.bytes() > 8 * 65536; });
  const auto tables = piece_tables(trace);
  const PieceAdvice advice = advise_pieces(tables[0], 100, 60'000);
  CHECK(advice.ways[0].way == PieceWay::batch);
  CHECK(advice.ways[0].time_us.value == doctest::Approx(ways[1].of(100, 60'000)));
}

TEST_CASE("below the smallest piece its time stands, and too far beyond nothing is said") {
  const auto tables = piece_tables(trace_of({1, 8}, {256, 4096}));
  const PieceAdvice advice = advise_pieces(tables[0], 4, 16);
  CHECK(advice.ways[0].time_us.value == doctest::Approx(ways[1].of(4, 256)));
  REQUIRE(advice.notes.size() == 1);
  CHECK(advice.notes[0].find("as small as this") != std::string::npos);
  for (const WayTime& way : advice.ways) {  // the true time is in the interval
    const auto& costs = *std::ranges::find(ways, way.way, &Costs::way);
    CHECK(way.time_us.low <= costs.of(4, 16));
    CHECK(way.time_us.high >= costs.of(4, 16));
  }
  const PieceAdvice few = advise_pieces(piece_tables(trace_of({8, 64}, {256, 4096}))[0], 2, 256);
  REQUIRE(few.notes.size() == 1);
  CHECK(few.notes[0].find("so few pieces") != std::string::npos);
  for (const WayTime& way : few.ways) {
    const auto& costs = *std::ranges::find(ways, way.way, &Costs::way);
    CHECK(way.time_us.low <= costs.of(2, 256) * (1 + 1e-9));
    CHECK(way.time_us.high >= costs.of(8, 256));
  }
  // Nothing is known below the only size.
  CHECK(advise_pieces(piece_tables(trace_of({1, 8}, {256}))[0], 4, 16).ways[0].time_us.low < 0.01);
  for (const auto& [n, bytes] : {std::pair{129u, 256u}, {8u, 65537u}, {100u, 60'000u}})
    CHECK_THROWS_AS((void)advise_pieces(tables[0], n, bytes), Error);
}

TEST_CASE("what lines miss is in the interval") {
  // A way whose time turns: 10 us up to 4096 bytes, then as long as the bytes take.
  Trace trace = trace_of({1, 8, 64}, {1024, 2048, 4096, 8192, 16384});
  for (PieceSample& sample : trace.of<Pieces>()[0].samples) {
    const PieceShape& shape = trace.of<Pieces>()[0].visits[sample.visit].axes;
    sample.done_us = 2 * shape.pieces * std::max(10.0, static_cast<double>(shape.piece_bytes) / 409.6);
  }
  const PieceAdvice advice = advise_pieces(piece_tables(trace).at(0), 8, 3000);
  CHECK(advice.ways[0].time_us.value == doctest::Approx(80));
  CHECK(advice.ways[0].time_us.high > 84);
  CHECK(advice.ways[0].time_us.low < 76);
}

TEST_CASE("what was measured is not predicted: the ratios are of the rounds that both ways were visited in") {
  const auto tables = piece_tables(trace_of({1, 100}, {1000, 100'000}));
  const PieceAdvice advice = advise_pieces(tables.at(0), 100, 1000);
  CHECK(advice.is_measured);
  REQUIRE(advice.ways.size() == 3);
  CHECK(advice.ways[0].way == PieceWay::kernel);
  CHECK(advice.ways[1].over_fastest.low == doctest::Approx(65.0 / 24 - 1));  // although times scatter by 10 %
  CHECK_FALSE(advise_pieces(tables.at(0), 100, 2000).is_measured);
}

TEST_CASE("a way that takes many times as long is not as fast, however much lines miss its time by") {
  // Each piece costs the loop as much as 64 times as many bytes would: lines over sizes miss it by several times.
  Trace trace = trace_of({1, 64, 4096}, {64, 1024, 16384, 262144});
  PieceSeries& series = trace.of<Pieces>()[0];
  for (PieceSample& sample : series.samples) {
    const PieceShape& shape = series.visits[sample.visit].axes;
    if (shape.way == PieceWay::loop) sample.done_us *= 50 * std::sqrt(static_cast<double>(shape.pieces));
  }
  const PieceAdvice advice = advise_pieces(piece_tables(trace).at(0), 1000, 4096);
  CHECK_FALSE(advice.ways[0].way == PieceWay::loop);
  const WayTime& loop = advice.ways.back();
  REQUIRE(loop.way == PieceWay::loop);
  CHECK_FALSE(loop.is_as_fast);
  for (const WayTime& way : advice.ways) CHECK(way.over_fastest.low > -1);
  CHECK(loop.time_us.low > 0);
}

}  // namespace piece_advice

}  // namespace partition_model_test
