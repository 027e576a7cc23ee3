// The probe of banks: words of shared memory under a permutation. The words of a block's array are numbered in order
// (rung 0), or by a permutation that was applied `rung` times; thread t reads the words t, t + threads, ... of these
// numbers. So lanes of a warp meet in banks by chance, and a permutation makes what it makes everywhere: the passes can
// be counted.
#pragma once

#include "npgpu/probe.hpp"
#include "probes/latency/permutation.hpp"

namespace npgpu::banks {

constexpr std::uint32_t threads = 1024, reads = 8, words = threads * reads, banks = 32, lanes = 32, most_rungs = 8;
constexpr std::uint64_t set_bytes = words * 4, steps_of_repeat = 64;

ProbeCase only_case(const std::string& device);
std::vector<Shape> shapes(const Layout&);
std::optional<std::string> refuses(const Shape&);
// The place of the i-th word.
NPGPU_EVERYWHERE inline std::uint32_t place(const Permutation& order, std::uint32_t rung, std::uint32_t i) {
  std::uint64_t at = i;
  for (std::uint32_t n = 0; n < rung; ++n) at = order.at(at);
  return static_cast<std::uint32_t>(at);
}
// Of a warp's access: how often the fullest bank is asked, on average over a block's.
double mean_passes(const Shape&);
double work(const Shape&);

}  // namespace npgpu::banks
