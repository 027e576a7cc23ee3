// Chains of dependent multiply-adds, x = x*a + b, in a core's registers: the work of the host's compute probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu {

enum class Isa { scalar, avx2, avx512, neon };
template <> inline constexpr std::array<std::string_view, 4> names_of<Isa>{"scalar FMA", "AVX2", "AVX-512", "NEON"};

// Those that this machine has, scalar first and the widest last. None where it has no fused multiply-add.
std::vector<Isa> isas_here();
// What is missing where isas_here() is empty.
std::string why_no_isa();

namespace chains {

// Steps of each chain: so many that one repeat takes some 30 us or more, so that reading the clocks costs nothing: a
// trial may have one repeat only, where the schedule's first look was disturbed.
constexpr std::uint64_t steps_of_repeat = 32768;
constexpr unsigned ilps[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
constexpr std::size_t max_state_bytes = 16 * 64;

// Loads ilp vectors of elements from `x`, takes repeats * steps_of_repeat steps of each, and stores them again. The
// element types are float, double and int32; a and b are exact in them.
using Loop = void (*)(void* x, double a, double b, std::uint64_t repeats);

struct Chains {
  Loop loop = nullptr;  // null: this instruction set has not so many registers, or nothing for this type
  unsigned lanes = 0;
};
Chains find(Isa, DataType, unsigned ilp);

// What the probe multiplies by and adds. Floating point counts its steps (a = b = 1), exact until the step is lost in
// rounding at 2^24 or 2^53, where the count stays; int32 walks a congruential sequence modulo 2^32.
double factor(DataType);
double addend(DataType);
// Elements before the first step: 1, 2, 3, ...
void start(DataType, std::span<std::byte> state);
// Nothing if every element is what so many steps make of its start, otherwise one sentence.
std::optional<std::string> check(DataType, std::span<const std::byte> state, std::uint64_t steps);

std::size_t bytes_of(DataType);

}  // namespace chains
}  // namespace npgpu
