// The probe of bulk copies (TMA): what it asks, of all devices. `access_bytes` are those of one copy, a box.
//
//   rung 1  a plain load, of a set far larger than L1 (chase only)
//        2  a bulk copy of so many bytes in a row
//        3  a box of a tensor map over the same rows
//        4  a bulk copy of which each block of a cluster asks for its part, and which all of them receive (read only)
//
//   chase   one thread: what a copy brings has the address of the next; its first 16 bytes are read
//   read    each warp of a block copies boxes into shared memory, `ilp` at a time
//   write   the same from shared memory; `ilp` stores may be under way
//
// In the space l2 the set is one that L2 holds, in global it is far beyond.
#pragma once

#include "npgpu/vocabulary/probe.hpp"

namespace npgpu::tma {

constexpr std::uint32_t warp = 32, unit_bytes = 16, line_bytes = 128, max_row_bytes = 512, max_boxes_of_warp = 16;
constexpr std::uint64_t loads_of_repeat = 256, boxes_of_repeat = 64;
constexpr std::uint64_t shared_bytes = 192 * KiB;  // most, of all boxes of a block
enum Rung : std::uint32_t { plain = 1, bulk, box, multicast };

// A tensor map over the set has rows of so many bytes, of which a box has some.
constexpr std::uint32_t row_bytes(const Shape& s) {
  return s.access_bytes < max_row_bytes ? s.access_bytes : max_row_bytes;
}
// From one element of a chase to the next.
constexpr std::uint64_t chase_step(const Shape& s) { return s.access_bytes < line_bytes ? line_bytes : s.access_bytes; }
// Groups of warps that read the same boxes: every warp for itself, or one of each block of a cluster.
constexpr std::uint32_t groups(const Shape& s) {
  return s.blocks / (s.rung == multicast ? s.cluster : 1) * (s.threads / warp);
}
// Boxes of each group: group g has the boxes g, g + groups(), ...
constexpr std::uint64_t boxes_of_group(const Shape& s) { return s.bytes / s.access_bytes / groups(s); }

std::vector<ProbeCase> cases(const std::string& device);
// at_once: how many clusters of so many blocks a device runs at once; 0: none.
std::vector<Shape> shapes(const ProbeCase&, const Layout&,
                          std::uint32_t (*at_once)(const std::string& device, std::uint32_t cluster));
std::optional<std::string> refuses(const ProbeCase&, const Shape&);
// Loads, or bytes that come to shared memory or go from it.
double work(const ProbeCase&, const Shape&);

}  // namespace npgpu::tma
