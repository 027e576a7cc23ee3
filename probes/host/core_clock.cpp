#include "probes/host/core_clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "npgpu/clock.hpp"

namespace npgpu {

namespace {

constexpr int chains_timed = 4;
constexpr int rounds = 1024, adds_of_round = 64;
constexpr int looks_for_highest = 64;
constexpr double agreement = 0.02;

// Both operands are registers: some cores add small constants while renaming, in no time at all.
void add_chain() {
  std::uint64_t x = 1;
  const std::uint64_t one = 1;
  for (int i = 0; i < rounds; ++i) {
#if defined(__x86_64__)
    asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one) : "cc");
#elif defined(__aarch64__)
    asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(one));
#endif
  }
}

}  // namespace

double core_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  Seconds least{1e9};
  for (int i = 0; i < chains_timed; ++i) {
    const Seconds begin = steady_clock().now();
    add_chain();
    least = std::min(least, steady_clock().now() - begin);
  }
  return rounds * adds_of_round / least.count();
#else
  return not_measured;
#endif
}

double highest_core_clock_hz() {
  double highest = not_measured;
  for (int i = 0; i < looks_for_highest; ++i) highest = std::fmax(highest, core_clock_hz());
  return highest;
}

double steady_hz(double before, double after) {
  const double mean = (before + after) / 2;
  return std::abs(before - after) <= agreement * mean ? mean : not_measured;
}

}  // namespace npgpu
