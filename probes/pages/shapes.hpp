// The probe of pages: one thread chases pointers that lie pages of 2 MiB apart, in random order, through growing sets
// up to nearly all of memory. A set has few lines, which L2 holds: what a load takes longer in a larger one is the time
// to find out where its page lies, beyond what a table of recent pages (TLB) reaches.
#pragma once

#include "npgpu/probe.hpp"

namespace npgpu::pages {

constexpr std::uint64_t page_bytes = 2 * MiB, line_bytes = 128, loads_of_repeat = 512;
constexpr std::uint64_t least_bytes = 32 * MiB, large_bytes = 16 * GiB;

ProbeCase only_case(const std::string& device);
std::vector<Shape> shapes(const Layout&);
std::optional<std::string> refuses(const Shape&);
// Where in its page an element lies: not all of them in lines of one set of L2.
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr std::uint64_t
    place_in_page(std::uint64_t page) {
  return page * 0x9E3779B1u % (page_bytes / line_bytes) * line_bytes;
}

}  // namespace npgpu::pages
