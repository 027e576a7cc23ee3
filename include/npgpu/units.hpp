// Quantities. A time is a Seconds; a size is an integer whose name ends in bytes; a rate is a double
// whose name ends in bytes_per_s. Rates print as decimal GB/s (1e9 bytes per second).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace npgpu {

using Seconds = std::chrono::duration<double>;

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

constexpr double microseconds(Seconds t) { return t.count() * 1e6; }
constexpr Seconds from_microseconds(double us) { return Seconds{us * 1e-6}; }

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

}  // namespace npgpu
