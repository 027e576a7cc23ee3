// Which share of what the hardware could do at most a healthy device reaches. The shares were measured on H200s (three
// traces in data/traces, two with PCIe Gen5 x16 in virtual machines); each floor leaves the margin that stands beside
// it.
#pragma once

#include <cstdint>

#include "npgpu/probe.hpp"
#include "npgpu/units.hpp"

namespace npgpu::model {

// Pinned copies timed by the device, from 16 MiB: 86.7 to 88.0 % of the link, both ways. Floor: 6 % below that. Links
// before Gen5 were not measured; packets of 128 B reach 83 % at most, and their floor leaves 13 % more.
inline constexpr double least_share_of_link = 0.82, least_share_of_old_link = 0.72;
// Of NVLink-C2C, which was not measured here: reports of GH200s have 375 to 420 GB/s to the GPU and 290 to 300 from it,
// of 447 one way. Floor: 10 % below the less.
inline constexpr double least_share_of_c2c = 0.58;
// What a copy takes beyond its bytes: 1.7 to 2.6 us up to 4 KiB. So 1 MiB reaches 77 to 80 % of the link, and the floor
// there, with this time, is 66 %.
inline constexpr Seconds most_copy_overhead{4.5e-6};
inline constexpr std::uint64_t large_copy = 16 * MiB, middle_copy = MiB, small_copy = 4 * KiB;

// Copies within the device, from twice the L2 cache: 83.3 to 86.1 % of clock * width (each byte is read and written).
inline constexpr double least_share_of_d2d = 0.77;

// Copies of 64 MiB to another GPU: 0.85 to 0.88 of 18 NVLinks. Without NVLink they were not measured.
inline constexpr double least_share_of_peers = 0.7;

// Kernels over memory of at least four times the L2 cache: reads 95.7 to 96.8, writes 97.2 to 97.5, mixed traffic 88.2
// to 91.5 % of clock * width. Floors: 8 to 12 % below.
constexpr double least_share_of_memory(Operation operation) {
  return operation == Operation::read || operation == Operation::write ? 0.86 : 0.80;
}

// Multiply-adds in registers: 98.1 to 99.3 % of lanes * clock. Floor: 5 % below.
inline constexpr double least_share_of_compute = 0.93;
// Products of tensor cores by warp groups: 87.7 to 91.9 % of the peak at the run's clock, and of fp64 at least 98.4 %.
// Floor: 9 % below.
inline constexpr double least_share_of_tensor = 0.8;

// Calls, in us, on the hosts of these machines: launches in a row 3.3 to 3.8, until a launch alone is done 8.3 to 9.0,
// blocking copies of 8 B 5.6 to 6.5. A busy sibling hyperthread makes them 1.3 to 1.5 times as long. Nothing of the
// device says what they should take: the limits are 1.6 times the figures in the middle.
inline constexpr double most_launch_us = 6, most_launch_done_us = 14, most_small_copy_us = 10;

// Pageable copies go through the host's memory and processor: 8.3 to 20 GB/s, and the largest reach 52 to 100 % of the
// best. Below this share of the best the fall is said.
inline constexpr double least_share_of_pageable = 0.5;

}  // namespace npgpu::model
