// Rates of products of matrices by what divides their size: Allada et al. 2009 found by eye that a library is fastest
// where 64 divides n, and slower where only 32, 16 or 8 do (their Table III). Here classes are found by numbers.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("gemm.h5");  // of npgpu probe gemm
//   for (const npgpu::ProbeSeries& series : trace.of<npgpu::Probes>())
//     if (const auto found = npgpu::classes_of(series))
//       for (const npgpu::RateClass& one : found->classes)
//         std::cout << title(series.question) << ", divided by " << one.least << " to " << one.most << ": "
//                   << one.relative.value << " of the rate\n";
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/model.hpp"
#include "npgpu/probe.hpp"

namespace npgpu {

inline constexpr std::uint32_t largest_divisor = 64;
// The largest power of two up to that which divides n; n is not 0.
std::uint32_t divisor_of(std::uint32_t n);

// One product of squares.
struct SizeRate {
  std::uint32_t n = 0;
  Estimate rate;  // operations per second; its interval may be NaN
};

// Sizes whose largest divisors lie between two powers of two, both included: 8 and 16 are those that 8 divides and 32
// does not.
struct RateClass {
  std::uint32_t least = 1, most = 1;
  std::size_t sizes = 0;
  // The median over the class's sizes of the rate over what its neighbours reach that 64 divides: straight between the
  // one below and the one above, or the one that there is. Its interval: of the median where there are 6 sizes, else
  // all that the sizes' own intervals reach; NaN where they have none.
  Estimate relative;
  // The median of the rates themselves, of sizes of at least nine tenths of the largest: rates grow with size.
  double rate = not_measured;
};

struct RateClasses {
  std::vector<RateClass> classes;  // by growing divisors; empty where there is nothing to compare
  std::size_t left_out = 0;        // sizes without a neighbour within 64 that 64 divides
};

// Starts with a class for each divisor. As long as two neighbouring ones do not differ, the two that are nearest become
// one. Classes differ where their medians are more than 2 % apart and their intervals, where both have one, do not
// touch. Sizes in any order, each once.
RateClasses rate_classes(std::span<const SizeRate>);

// Of a series of the probe gemm: its squares, of those that have the same cores and panels the most. Nothing where they
// have fewer than two divisors, or the series is another probe's.
std::optional<RateClasses> classes_of(const ProbeSeries&);

}  // namespace npgpu
