// The probes that compare a pattern with a rule: how threads' places lie to each other, and which shapes show it. CUDA
// and simulated devices share them.
#pragma once

#include <span>

#include "npgpu/vocabulary/probe.hpp"
#include "probes/shapes.hpp"

namespace npgpu {

namespace patterns {

constexpr std::uint32_t threads = 1024;  // of a block
// Threads of a block that reads 16 bytes a thread: four such blocks fill a multiprocessor. Eight of 256 need more
// shared memory than the 8 KiB that a multiprocessor keeps where the rest is L1 (each takes 1 KiB, and more): one
// waited until another had ended, and some multiprocessors ran nine.
constexpr std::uint32_t wide_threads = 512;
constexpr std::uint32_t ilp_of_words = 8, ilp_wide = 4;
constexpr std::uint32_t max_offset = 128;  // bytes

// onchip: reads that a unit's own memories or L2 answer; global memory by 16 bytes a thread, the others by words.
//   shared    `bytes` are of each block, `stride` in words
//   constant  the same words for all blocks, `stride` in words: 0 is one word for a warp, 1 is a word a lane
//   l1, l2    all blocks read all of `bytes`
std::vector<Shape> onchip_shapes(const ProbeCase&, const Layout&);
std::vector<Shape> usual_onchip_shapes(const ProbeCase&, const Layout&);
// Words of a block's walk through shared or constant memory of so many bytes; 0 where they are too few for the stride.
std::uint32_t span_words(const Shape&, Space);
// Chunks of a set in global memory, each of which a block reads in one step.
std::uint64_t chunks_of(const Shape&);
std::optional<std::string> refuses_onchip(const ProbeCase&, const Shape&);

// access: a warp's lanes read words `stride` words apart, from `offset_bytes` on, in a set that L1 or L2 holds. The set
// is cut into planes, and each of a thread's loads in flight is in another plane.
constexpr std::uint64_t l1_plane = 8 * KiB, small_plane = 128 * KiB, large_plane = MiB;
std::vector<Shape> access_shapes(const ProbeCase&, const Layout&);
// Windows of a warp's words, one after the other, in a plane.
std::uint64_t windows_of(const Shape&);
std::optional<std::string> refuses_access(const ProbeCase&, const Shape&);

// atomics: additions to words `stride` apart, each a thread's own, or to one word (0). In shared memory each block has
// its own words.
std::vector<Shape> atomics_shapes(const ProbeCase&, const Layout&);
// Words of a block in shared memory, of the grid in global memory.
std::uint64_t atomic_words(const Shape&, Space);
// The most that the words of all blocks take in a step.
std::uint64_t atomic_bytes(std::span<const ProbeStep>);
std::optional<std::string> refuses_atomics(const ProbeCase&, const Shape&);
// Threads that may add to the same words: of a block in shared memory, of the grid in global memory.
std::uint64_t adders_of(const Shape&, Space);
// What is wrong with words that were 0 before these steps.
std::optional<std::string> wrong_words(const Shape&, Space, std::uint64_t steps,
                                       const std::vector<std::uint32_t>& words);
// Says what is wrong with the old values that the adders of a common word had, of which a thread has the sum.
std::optional<std::string> wrong_old_values(const Shape&, Space, std::uint64_t steps,
                                            const std::vector<std::uint32_t>& sums);

// divergence: a branch of `ways` ways; `stride` neighbouring threads take the same.
constexpr std::uint32_t max_ways = 32, branch_steps = 1024;  // multiply-adds of a thread in a repeat
std::vector<Shape> divergence_shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses_divergence(const ProbeCase&, const Shape&);

// reduction: the rungs of a ladder of sums, all by blocks of so many threads, over an array far beyond the caches.
constexpr std::uint32_t rungs = 8, rung_threads = 256;
std::vector<Shape> reduction_shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses_reduction(const ProbeCase&, const Shape&);

// product: square matrices of `bytes` each, an element of the product a thread, by blocks of T * T threads. Rung 1
// reads from global memory, rung 2 tiles of T * T in shared memory.
constexpr std::uint32_t product_period = 64;  // rows and columns are a multiple of it
std::uint32_t tile_of(const Shape&);          // T
std::uint32_t rows_of_matrix(const Shape&);
std::vector<Shape> product_shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses_product(const ProbeCase&, const Shape&);

// staging: tiles of an array far beyond the caches, brought into shared memory by blocks of 256 threads in one of four
// ways: plain loads, asynchronous copies, the same so many tiles ahead, and bulk copies as many ahead.
constexpr std::uint32_t staging_rungs = 4, stages = 8, tile_bytes = 4096, staging_threads = 256;
std::vector<Shape> staging_shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses_staging(const ProbeCase&, const Shape&);

}  // namespace patterns
}  // namespace npgpu

// What the probe occupancy asks of GPUs and of simulated devices: one grid of small blocks whose loads wait for each
// other, while registers or shared memory leave room for fewer and fewer of them at once.
namespace npgpu::occupancy {

constexpr std::uint32_t threads = 128;
constexpr std::uint32_t blocks_per_unit = 48;  // of the grid: whole waves of 1, 2, 3, 4, 6, 8, 12, 16 and 24 blocks
constexpr std::uint32_t loads = 1024;          // of each thread in a repeat; a warp asks for one word
constexpr std::uint64_t set_bytes = MiB;       // that L2 holds
constexpr std::uint32_t sector_bytes = 32;     // from one word to the next

// `registers`: of a thread, in each kernel there is, the fewest first. As many blocks at once as a wave may have, fewer
// by shared memory with the first of the kernels, and by the others' registers.
std::vector<Shape> shapes(const Layout&, std::span<const std::uint32_t> registers);
std::optional<std::string> refuses(const Layout&, const Shape&, std::span<const std::uint32_t> registers);

}  // namespace npgpu::occupancy
