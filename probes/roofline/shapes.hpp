// What probe roofline asks. GPUs and simulated devices share it; a host has its own shapes.
//
// A thread reads 64 bytes in a step, as four accesses of 16, and multiplies and adds with what it read. A step's
// operations are counted by the shape's `intensity`: operations for each KiB, of which a step is a sixteenth. Where
// there are fewer multiply-adds than elements, each takes one element, and the words of the others are added up as
// integers, so that all are read. Where there are more, each element takes as many.
//
// The bytes come from memory (global), from L2 (l2: a set that one of two partitions of L2 holds), or from each block's
// own shared memory (shared: `bytes` are a block's).
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu::roofline {

constexpr std::uint32_t access_bytes = 16, accesses = 4, step_bytes = accesses * access_bytes;
constexpr std::uint32_t warp = 32, max_threads = 256, blocks_of_unit = 3;
// Of every thread in a repeat, and a trial is one repeat at least. A grid's begin and end take 30 us on an H100: of
// trials of 1 ms that was 3 %, and of these, of 3 ms and more, it is below 1 %. Faster bytes take more steps.
std::uint32_t steps_of_repeat(const ProbeCase&);

// fp32 and fp64 by multiply-adds of each lane, fp16 by products of tensor cores (m16n8k16) that accumulate in fp32; on
// bytes of memory, of L2 and of shared memory.
std::vector<ProbeCase> cases(const std::string& device);

// From 1/16 operations a byte, or 2 of tensor cores, in powers of two, to 256 and 1024 of memory's bytes. L2's and
// shared memory's are faster, and their ridges lie lower: up to 64 and 256, and to 16 and 128.
std::vector<std::uint32_t> intensities(const ProbeCase&);
// One for each intensity: on all units, in a set of the case's memory.
std::vector<Shape> shapes(const ProbeCase&, const Layout&);
std::optional<std::string> refuses(const ProbeCase&, const Shape&);

// Of a thread (fp32, fp64) multiply-adds; of a warp (fp16) products.
std::uint32_t operations_of_step(const ProbeCase&, const Shape&);
double bytes_of_repeat(const ProbeCase&, const Shape&);  // that all threads read
double work(const ProbeCase&, const Shape&);             // operations of all threads in one repeat, two a multiply-add

// Memory is read in regions, each by one block at a time: so many steps of a block, 256 KiB of one of 256 threads. Of
// 64 KiB and more an H200's memory was as fast as ever; of 32 KiB turns were taken too often.
constexpr std::uint32_t steps_of_region = 16;
constexpr std::uint32_t region_bytes(const Shape& s) { return steps_of_region * step_bytes * s.threads; }

// Of shared memory each warp reads all of its block's set, so many bytes in a step; steps come in pairs. Of the 48 KiB
// that any block may have, the kernel takes some itself.
constexpr std::uint32_t warp_step_bytes = step_bytes * warp, most_shared_bytes = 44 * KiB;

}  // namespace npgpu::roofline
