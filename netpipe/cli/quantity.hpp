// Quantities as a user types them. Every error names the option.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npgpu/units.hpp"

namespace npgpu::cli {

// "4096", "4KiB", "1.5MiB", "192M" (K, M, G are binary, as in NetPIPE; KB, MB, GB decimal). A whole number of
// bytes, at least `least`. Throws Error(usage): "--end: '-5' is no size; write bytes or 4KiB, 192MiB".
std::uint64_t parse_size(std::string_view option, std::string_view text, std::uint64_t least = 0);
// "1,3,4KiB"; ascending and each once in the result. Throws if empty.
std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text);
std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t least,
                          std::uint64_t most = UINT64_MAX);
// "0.25", "250ms", "2s", "10us": plain numbers are seconds. Positive.
Seconds parse_duration(std::string_view option, std::string_view text);
// "5%", "0.05": a fraction, 0 .. 10.
double parse_fraction(std::string_view option, std::string_view text);
// "0.5", "12": a plain number without a unit, from `least` to `most`.
double parse_number(std::string_view option, std::string_view text, double least, double most);
// Words split at commas; empty words refused.
std::vector<std::string> split_words(std::string_view option, std::string_view text);

}  // namespace npgpu::cli
