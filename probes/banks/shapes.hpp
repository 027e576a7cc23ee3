// The probe of banks: all lanes of a warp chase through shared memory, by words a stride apart, by words of which each
// is in another bank, and by words of a random order. How many of 32 lanes meet in one bank is then the largest of 32
// bins that get 32 balls. One warp alone shows what a conflict adds to a latency; all that fit, what it takes of a
// rate.
#pragma once

#include "npgpu/probe.hpp"
#include "probes/banks/words.hpp"

namespace npgpu::banks {

constexpr std::uint32_t loads_of_repeat = 512;  // of a lane: a multiple of all numbers of patterns
constexpr std::uint64_t least_bytes = KiB, most_bytes = 32 * KiB, usual_bytes = 16 * KiB;

std::vector<ProbeCase> cases(const std::string& device);
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);
inline std::uint32_t patterns_of(const Shape& s) { return static_cast<std::uint32_t>(s.bytes / (lanes * word_bytes)); }
inline std::vector<std::uint32_t> words_of(const Shape& s) { return words_of(s.rung, s.stride, patterns_of(s)); }
double work(const ProbeCase&, const Shape&);  // of a repeat: loads of a warp, or bytes of all

}  // namespace npgpu::banks
