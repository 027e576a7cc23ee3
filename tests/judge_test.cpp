// The rule by which every figure is judged, by hand.
#include "netpipe/model/judge.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace judge_test {

using namespace npgpu;
using namespace npgpu::model;

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

}  // namespace judge_test
