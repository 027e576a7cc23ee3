// Quantities. A time is a Seconds; a size is an integer with a name that ends in bytes; a rate is a double with a name
// that ends in bytes_per_s. Rates print as decimal GB/s (1e9 bytes per second).
//
// Example:
//   const std::uint64_t bytes = npgpu::padded(3 * npgpu::MiB / 2 + 1, 4 * npgpu::KiB);  // in whole pages
//   const npgpu::Seconds time = npgpu::from_microseconds(30);
//   std::cout << npgpu::size_text(bytes) << " in " << npgpu::microseconds(time) << " us\n";
//   std::cout << 1e-9 * static_cast<double>(bytes) / time.count() << " GB/s\n";
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace npgpu {

using Seconds = std::chrono::duration<double>;

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

constexpr double microseconds(Seconds t) { return t.count() * 1e6; }
constexpr Seconds from_microseconds(double us) { return Seconds{us * 1e-6}; }

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

// A sum of sizes that saturates instead of wrapping, so that an absurd size is found too large.
constexpr std::uint64_t saturating_plus(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}
// Rounded up to whole units; saturates, too.
constexpr std::uint64_t padded(std::uint64_t bytes, std::uint64_t unit) {
  const std::uint64_t end = saturating_plus(bytes, unit - 1);
  return end == std::numeric_limits<std::uint64_t>::max() ? end : end / unit * unit;
}

// "4 KiB", "1.5 MiB", "4093 B": always exact.
std::string size_text(std::uint64_t bytes);

}  // namespace npgpu
