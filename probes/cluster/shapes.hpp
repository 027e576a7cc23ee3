// The probe of clusters: what it asks, of all devices. Blocks of a cluster run at once on neighbouring multiprocessors
// and reach each other's shared memory. Of each block `bytes` are reached, by the block that is `stride` blocks before
// it in the cluster's ring; half of a cluster on, blocks reach each other's in pairs. A stride of 0 is a block's own
// memory, by the same instructions.
//
//   chase   one thread of the first block loads address after address, each of which is the next one's
//   read    every block reads the one's that is `stride` on
//   write   every block writes there
#pragma once

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::cluster {

constexpr std::uint32_t word_bytes = 4, place_bytes = 8;  // a place of a chase has an address
constexpr std::uint32_t largest = 16, portable = 8;       // blocks; more than 8 are for those who ask
constexpr std::uint64_t chase_bytes = 4 * KiB, loads_of_repeat = 512, steps_of_repeat = 64;
constexpr std::uint64_t set_bytes = 128 * KiB;  // so that no two blocks fit a multiprocessor

std::vector<ProbeCase> cases(const std::string& device);
// at_once: how many clusters of so many blocks a device runs at once; 0: none.
std::vector<Shape> shapes(const ProbeCase&, std::uint32_t (*at_once)(const std::string& device, std::uint32_t cluster));
std::optional<std::string> refuses(const ProbeCase&, const Shape&);
// Loads, or bytes.
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::cluster
