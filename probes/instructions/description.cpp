#include <algorithm>
#include <bit>
#include <cmath>

#include "npgpu/vocabulary/questions.hpp"
#include "probes/instructions/shapes.hpp"

namespace npgpu::instructions {

std::vector<ProbeCase> cases(const std::string& device) {
  std::vector<ProbeCase> all;
  const auto add = [&](Operation operation, DataType type) {
    all.push_back({.probe = "instructions", .device = device, .operation = operation, .type = type});
  };
  for (const Operation operation : {Operation::rcp, Operation::rsqrt, Operation::sin, Operation::ex2, Operation::lg2,
                                    Operation::via_fp64, Operation::via_fp16, Operation::via_int32})
    add(operation, DataType::fp32);
  for (const DataType type : {DataType::fp64, DataType::int64})
    for (const Operation operation : {Operation::add, Operation::mul}) add(operation, type);
  for (const Operation operation : {Operation::popc, Operation::shuffle, Operation::dpx})
    add(operation, DataType::int32);
  return all;
}

std::vector<Shape> shapes(const ProbeCase&, const Layout& l) {
  const std::uint32_t threads = std::min(1024u, l.max_threads_per_block);
  return {{.blocks = 1, .threads = 32},
          {.blocks = 1, .threads = 32, .ilp = 4},
          {.blocks = 1, .threads = threads, .ilp = 4},
          {.blocks = l.units, .threads = threads, .ilp = 2},
          {.blocks = l.units, .threads = threads, .ilp = 4}};
}

std::optional<std::string> refuses(const ProbeCase&, const Shape& s) {
  if (s.threads % 32) return std::to_string(s.threads) + " threads: whole warps of 32";
  if (s.ilp != 1 && s.ilp != 2 && s.ilp != 4) return std::to_string(s.ilp) + " chains of a thread: 1, 2 or 4";
  return std::nullopt;
}

double work(const ProbeCase& c, const Shape& s) {
  return static_cast<double>(steps_of_repeat) * of_step(c) * s.blocks * s.threads * s.ilp;
}

bool is_exact(const ProbeCase& c) {
  switch (c.operation) {
    case Operation::rcp:
    case Operation::rsqrt:
    case Operation::sin:
    case Operation::ex2:
    case Operation::lg2: return false;
    default: return true;
  }
}

namespace {

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t product = 1;
  for (; exponent; exponent /= 2, base *= base)
    if (exponent % 2) product *= base;
  return product;
}
std::uint32_t folded(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits) + static_cast<std::uint32_t>(bits >> 32);
}

}  // namespace

std::uint32_t word_after(const ProbeCase& c, std::uint32_t thread, std::uint32_t chain, std::uint64_t steps) {
  const std::uint32_t x = first(thread, chain);
  const auto whole = static_cast<double>(x);
  switch (c.operation) {
    case Operation::add:
      return c.type == DataType::fp64 ? folded(std::bit_cast<std::uint64_t>(whole + static_cast<double>(steps)))
                                      : folded(x + int64_term * steps);
    case Operation::mul:
      return c.type == DataType::fp64 ? folded(std::bit_cast<std::uint64_t>(steps % 2 ? -whole : whole))
                                      : folded(x * power(int64_factor, steps));
    case Operation::popc: {
      std::uint32_t bits = x;  // of one bit there is one
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(steps, 8); ++i)
        bits = static_cast<std::uint32_t>(std::popcount(bits));
      return bits;
    }
    case Operation::shuffle:  // from the next lane
      return first(static_cast<std::uint32_t>(thread / 32 * 32 + (thread + steps) % 32), chain);
    case Operation::dpx: return static_cast<std::uint32_t>(x + steps);
    default: return std::bit_cast<std::uint32_t>(static_cast<float>(x));  // there and back
  }
}

double value_after(const ProbeCase& c, std::uint32_t thread, std::uint32_t chain, std::uint64_t steps) {
  double x = first(thread, chain);
  if (c.operation == Operation::rcp) return steps % 2 ? 1 / x : x;
  if (c.operation == Operation::lg2) return x / 16;
  constexpr std::uint64_t settled = 4096;  // rsqrt comes to 1, ex2 to 0.6412, and sin as near to 0 as sqrt(3 / steps)
  for (std::uint64_t i = 0; i < std::min(steps, settled); ++i)
    x = c.operation == Operation::rsqrt ? 1 / std::sqrt(x)
        : c.operation == Operation::sin ? std::sin(x)
                                        : std::exp2(-x);
  return c.operation == Operation::sin && steps > settled ? 0 : x;
}

double tolerance(const ProbeCase& c, std::uint64_t steps) {
  constexpr double of_sum = 4;  // chains at most
  if (c.operation == Operation::sin) return of_sum * (std::sqrt(3.0 / std::fmax(static_cast<double>(steps), 1)) + 0.01);
  return c.operation == Operation::rcp || c.operation == Operation::lg2 ? of_sum * 0.1 : of_sum * 1e-3;
}

}  // namespace npgpu::instructions

namespace npgpu {

namespace {

bool of_one_chain(const ProbeCase&, const Shape& s) { return s.blocks == 1 && s.threads == 32 && s.ilp == 1; }
// A warp's step of one chain, in what the rate counts: an instruction, or two of them, by 32 lanes.
double one_instruction(const ProbeCase&, const Shape&) { return 32; }

}  // namespace

const Joined<ProbeDescription> instructions_description(
    {.name = "instructions",
     .summary = "special functions, fp64, int64, conversions, popc, shuffles and DPX: latency and rate of each",
     .is_usual = false,
     .counted = Counted{"instructions", "instructions of all threads"},
     .unit_rates = {{.name = "{1} {0} latency",
                     .meaning = "cycles from one to the next that needs its result; of two in turn the mean",
                     .of = of_one_chain,
                     .step = one_instruction},
                    {.name = "{1} {0} rate", .meaning = "lanes' instructions that a unit completes in a cycle"}},
     .cases = instructions::cases,
     .there_are =
         "probe instructions has rcp, rsqrt, sin, ex2, lg2, via-fp64, via-fp16 and via-int32 of fp32, add and mul "
         "of fp64 and int64, and popc, shuffle and dpx of int32",
     .shapes = instructions::shapes,
     .refuses = instructions::refuses,
     .key_figures = [](const ProbeCase&) -> std::vector<FigureChoice> { return {}; }});

}  // namespace npgpu
