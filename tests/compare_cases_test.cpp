// What a comparison calls by which name: curves, latencies, lanes, classes and key figures; and what its outcome
// covers.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "npgpu/model/compare.hpp"
#include "tests/made_sweep.hpp"

namespace compare_cases_test {

using namespace npgpu;

namespace {

constexpr double rounds_us[] = {99.9, 100, 100.1, 99.95, 100.05, 100};

// The device times it. Points of these sizes, each in six rounds.
TransferSeries copies(std::initializer_list<std::uint64_t> sizes, double factor = 1,
                      Pattern pattern = Pattern::stream) {
  TransferSeries sweep = sweep_of(pattern, Timing::gated);
  for (const std::uint64_t bytes : sizes)
    for (const double us : rounds_us) add_point(sweep, bytes, {us * factor});
  return sweep;
}

Trace trace_of(std::initializer_list<TransferSeries> all) {
  Trace trace;
  trace.of<Transfers>() = all;
  return trace;
}

Comparison held(const Trace& a, const Trace& b) {
  const Trace *of_a = &a, *of_b = &b;
  return compare({&of_a, 1}, {&of_b, 1});
}

TransferSeries with_neighbour(TransferSeries sweep) {
  for (Visit<Transfers>& visit : sweep.visits) disturb(visit, Cause::device_busy);
  return sweep;
}

}  // namespace

TEST_CASE("not slower is what both sides have undisturbed; with anything else it cannot be told of all") {
  const TransferSeries one = copies({1000}), other = copies({1000}, 1, Pattern::pingpong);
  CHECK(outcome_of(held(trace_of({one, other}), trace_of({one, other}))) == Outcome::not_slower);
  const auto outcome = [](const Trace& a, const Trace& b) { return outcome_of(held(a, b)); };
  CHECK(outcome(trace_of({one, other}), trace_of({one})) == Outcome::cannot_tell);
  CHECK(outcome(trace_of({one}), trace_of({one, other})) == Outcome::cannot_tell);
  CHECK(outcome(trace_of({copies({1000, 2000})}), trace_of({one})) == Outcome::cannot_tell);
  const Comparison disturbed = held(trace_of({one, other}), trace_of({one, with_neighbour(other)}));
  CHECK(disturbed.cases[1].verdict == Verdict::disturbed);
  CHECK_FALSE(is_judged(disturbed.cases[1]));
  CHECK(outcome_of(disturbed) == Outcome::cannot_tell);
  CHECK(outcome(trace_of({one}), trace_of({with_neighbour(one)})) == Outcome::not_judged);
  CHECK(outcome(trace_of({one, other}), trace_of({copies({1000}, 1.1), with_neighbour(other)})) == Outcome::slower);
}

namespace {

// Curves of twelve points each, of 500 us times their factor; they differ by their offsets.
Trace curves(const std::vector<double>& factors) {
  Trace trace;
  for (const double factor : factors) {
    trace.of<Transfers>().push_back(copies({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 5 * factor));
    trace.of<Transfers>().back().question.source_offset = trace.of<Transfers>().size();
  }
  return trace;
}
SharedChange in_common(const std::vector<double>& factors) {
  return held(curves(std::vector<double>(factors.size(), 1)), curves(factors)).classes.at(0).shared.at(0);
}

}  // namespace

TEST_CASE("a class is slower where most of its cases are, and two at least; else its cases speak for themselves") {
  const SharedChange most = in_common({1.5, 1.5, 1});
  CHECK(most.verdict == Verdict::slower);
  CHECK(most.change == doctest::Approx(0.5));
  CHECK(most.cases == 3);
  CHECK(most.sharing == 2);
  CHECK(in_common({1.5, 1.5}).sharing == 2);
  // Of two, the median is half of what the one changed by.
  for (const std::vector<double>& factors : {std::vector<double>{1.5}, {1.5, 1}}) {
    const SharedChange alone = in_common(factors);
    CHECK(alone.verdict == Verdict::same);
    CHECK(std::isnan(alone.change));
    CHECK(alone.points == 12 * factors.size());
    const Comparison all = held(curves(std::vector<double>(factors.size(), 1)), curves(factors));
    CHECK(all.cases[0].verdict == Verdict::slower);
    CHECK(outcome_of(all) == Outcome::slower);
  }
}

namespace {

void add_pieces(PieceSeries& series, PieceWay way, double us) {
  for (const std::uint64_t bytes : {1000, 2000, 3000, 4000, 5000, 6000})
    for (const double one : rounds_us) {
      Visit<Pieces> visit = next_visit(series, {8, bytes, way}, 1);
      visit.work = static_cast<double>(8 * bytes);
      series.samples.push_back({static_cast<std::uint32_t>(series.visits.size()), 0, 1, 1, one, one * us});
      series.visits.push_back(visit);
    }
}
Trace pieces(double batch_us) {
  Trace trace;
  PieceSeries& series = trace.of<Pieces>().emplace_back();
  series.question.device = "cuda:0";
  series.simulated = true;  // the same in each run
  add_pieces(series, PieceWay::loop, 1);
  add_pieces(series, PieceWay::batch, batch_us);
  return trace;
}

}  // namespace

TEST_CASE("each way to copy pieces has a curve of its own: a slower one is named, and no other") {
  const Comparison all = held(pieces(1), pieces(1.2));
  REQUIRE(all.cases.size() == 2);
  CHECK(all.cases[0].name == "pieces cuda:0 h2d scattered, contiguous on the host, by loop");
  CHECK(all.cases[0].verdict == Verdict::same);
  CHECK(all.cases[1].title == "pieces cuda:0 h2d scattered, contiguous on the host, by batch");
  for (const PartComparison& part : all.cases[1].parts) {
    CHECK(part.verdict == Verdict::slower);
    CHECK(part.change == doctest::Approx(0.2).epsilon(0.01));
    CHECK(part.first.ends_with(" by batch"));
  }
}

TEST_CASE("latencies are not called copies, reads are told from writes, and lanes of several devices name theirs") {
  const auto names = [](const TransferSeries& series) {
    std::vector<std::string> all;
    for (const CaseComparison& of : held(trace_of({series}), trace_of({series})).cases) all.push_back(of.name);
    return all;
  };
  using Names = std::vector<std::string>;
  TransferSeries chase = copies({8}, 1, Pattern::chase);
  chase.question = case_on("cudaMemcpy", "cuda:5", Direction::peer);
  chase.question.target = "cuda:0";
  chase.question.pattern = Pattern::chase;
  chase.question.timing = Timing::gated;
  chase.question.async = true;
  chase.question.access = Access::read;
  CHECK(names(chase) == Names{"cuda:5 to cuda:0, async, read, chase"});
  chase.question.pattern = Pattern::stream;
  CHECK(names(chase) == Names{"cuda:5 to cuda:0, async, read copies"});
  TransferSeries together = sweep_of(Pattern::stream, Timing::gated);
  together.question.more_lanes = {{.direction = Direction::d2h, .source = "cuda:3", .target = "host"}};
  for (const double us : rounds_us) add_duplex(together, 1000, {us}, {us});
  CHECK(names(together) == Names{"H2D pinned, blocking, gated, 1 more lane copies, lane 0 host to cuda:0",
                                 "H2D pinned, blocking, gated, 1 more lane copies, lane 1 cuda:3 to host"});
}

TEST_CASE("the smallest copies are those of up to 64 KiB, and there are none where all are larger") {
  const auto smallest = [](std::initializer_list<std::uint64_t> sizes) -> std::string {
    TransferSeries sweep = sweep_of();
    for (const std::uint64_t bytes : sizes)
      for (const double us : rounds_us) add_point(sweep, bytes, {us});
    for (const FigureChange& figure : held(trace_of({sweep}), trace_of({sweep})).figures)
      if (figure.name == "smallest copy, host to device") return figure.at;
    return "";
  };
  CHECK(smallest({4, 8, 16, 32}) == "4 B .. 16 B");
  CHECK(smallest({4, 16 << 20, 64 << 20}) == "4 B");
  CHECK(smallest({16 << 20, 64 << 20}).empty());
}

}  // namespace compare_cases_test
