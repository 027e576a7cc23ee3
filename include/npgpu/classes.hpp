// Rates of matrix products, classed by the powers of two that divide their size. Allada et al. 2009 saw that a library
// is fastest where 64 divides n, and slower where only 32, 16 or 8 do (their Table III). Here the classes follow from
// numbers.
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

// Sizes with a divisor_of() from `least` to `most`. 8 and 16: sizes that 8 divides and 32 does not.
struct RateClass {
  std::uint32_t least = 1, most = 1;
  std::size_t sizes = 0;
  // The rate relative to that of the neighbouring sizes that 64 divides: the median over the sizes of the class. The
  // rate of the neighbours is interpolated between the one below and the one above; with only one, it is that one's.
  // The interval is that of the median where there are 6 sizes, and otherwise spans the intervals of the sizes. NaN
  // where these have none.
  Estimate relative;
  // The median of the rates. Only sizes of at least nine tenths of the largest count, because rates grow with size.
  double rate = not_measured;
};

struct RateClasses {
  std::vector<RateClass> classes;  // by growing divisors; empty where there is nothing to compare
  std::size_t left_out = 0;        // sizes without a neighbour within 64 that 64 divides
};

// Starts with a class for each divisor. While two neighbouring classes do not differ, the two with the nearest medians
// become one. Classes differ where their medians are more than 2 % apart, and their intervals, if both have one, do not
// touch. The sizes come in any order, each once.
RateClasses rate_classes(std::span<const SizeRate>);

// The classes of a series of the probe gemm. Only squares count, and of these the largest group that is alike in all
// but its size. Nothing where they have fewer than two divisors, or the series is of another probe.
std::optional<RateClasses> classes_of(const ProbeSeries&);

}  // namespace npgpu
