// Single instructions: what the probe asks, and what each comes to. A thread has `ilp` chains of so many steps, each of
// which needs the result of the one before.
//
//   rcp rsqrt sin ex2 fp32   1/x; 1/sqrt(x); sin x, a product and a look-up; 2^-x: approximations
//   lg2 fp32                 log2 of 2^x, both of which count
//   add mul fp64, int64      x + 1 and -x; of int64 x + c and x * c, two instructions and several
//   via-fp64 and others      a number through another type and back: two instructions
//   popc, shuffle, dpx       bits of x; another lane's x; max(x + 1, 0)
#pragma once

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::instructions {

constexpr std::uint32_t steps_of_repeat = 256;

std::vector<ProbeCase> cases(const std::string& device);
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);
// That a step counts for.
constexpr unsigned of_step(const ProbeCase& c) {
  switch (c.operation) {
    case Operation::lg2:
    case Operation::via_fp64:
    case Operation::via_fp16:
    case Operation::via_int32: return 2;
    default: return 1;
  }
}
double work(const ProbeCase&, const Shape&);

// What a thread's chain begins with. Small whole numbers, so that all types have them.
constexpr std::uint32_t first(std::uint32_t thread, std::uint32_t chain) { return 1 + thread % 32 + 40 * chain; }
constexpr std::uint64_t int64_factor = 0x5851F42D4C957F2D, int64_term = 0x9E3779B97F4A7C15;

// Whether a result is a whole number, which must be right to the last bit. Others are approximations.
bool is_exact(const ProbeCase&);
// What a chain comes to after so many steps: the number's lower and upper words, added.
std::uint32_t word_after(const ProbeCase&, std::uint32_t thread, std::uint32_t chain, std::uint64_t steps);
// The same of approximations, and how far off a sum of `ilp` chains may be.
double value_after(const ProbeCase&, std::uint32_t thread, std::uint32_t chain, std::uint64_t steps);
double tolerance(const ProbeCase&, std::uint64_t steps);

}  // namespace npgpu::instructions
