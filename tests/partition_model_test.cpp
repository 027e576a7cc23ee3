// The tables of Veneva & Imamura 2025 from their own equations.
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

namespace partition_model_test {

using namespace npgpu;
using models::partition::paper;
using models::partition::tau_ms;

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

}  // namespace partition_model_test
