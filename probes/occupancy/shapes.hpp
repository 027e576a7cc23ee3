// What the probe occupancy asks of GPUs and of simulated devices: one grid of small blocks whose loads wait for each
// other, while registers or shared memory leave room for fewer and fewer of them at once.
#pragma once

#include <span>

#include "npgpu/probe.hpp"

namespace npgpu::occupancy {

constexpr std::uint32_t threads = 128;
constexpr std::uint32_t blocks_per_unit = 48;  // of the grid: whole waves of 1, 2, 3, 4, 6, 8, 12, 16 and 24 blocks
constexpr std::uint32_t loads = 1024;          // of each thread in a repeat; a warp asks for one word
constexpr std::uint64_t set_bytes = MiB;       // that L2 holds
constexpr std::uint32_t sector_bytes = 32;     // from one word to the next

ProbeCase question(const std::string& device);
// `registers`: of a thread, in each kernel there is, the fewest first. As many blocks at once as a wave may have, fewer
// by shared memory with the first of the kernels, and by the others' registers.
std::vector<Shape> shapes(const Layout&, std::span<const std::uint32_t> registers);
std::optional<std::string> refuses(const Layout&, const Shape&, std::span<const std::uint32_t> registers);

}  // namespace npgpu::occupancy
