// The probe of code: multiply-adds in a straight line of growing length, round and round. What one takes longer in a
// longer line is the time until its instructions come from farther away than the cache that holds a shorter one.
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu::code {

constexpr std::uint32_t instruction_bytes = 16, chains = 4;  // from compute capability 7.0 on
constexpr std::uint32_t of_part = 64;                        // instructions between two places where the line may end
constexpr std::uint64_t part_bytes = of_part * instruction_bytes, most_bytes = 256 * KiB;
constexpr std::uint32_t parts_of_repeat = 1024;  // at least; whole rounds
constexpr std::uint32_t most_whole = 1u << 24;   // to which an fp32 counts by ones, and no farther

ProbeCase only_case(const std::string& device);
std::vector<Shape> shapes(const Layout&);
std::optional<std::string> refuses(const Shape&);
constexpr std::uint32_t parts(const Shape& s) { return static_cast<std::uint32_t>(s.bytes / part_bytes); }
constexpr std::uint32_t rounds(const Shape& s) { return (parts_of_repeat + parts(s) - 1) / parts(s); }
// Instructions of one thread in a repeat, and of all.
constexpr std::uint64_t instructions(const Shape& s) { return std::uint64_t{rounds(s)} * parts(s) * of_part; }
double work(const Shape& s);

}  // namespace npgpu::code
