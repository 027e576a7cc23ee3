#include "probes/banks/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace npgpu::banks {

ProbeCase only_case(const std::string& device) {
  return {.probe = "banks", .device = device, .operation = Operation::read, .space = Space::shared};
}

std::vector<Shape> shapes(const Layout& l) {
  std::vector<Shape> all;
  if (l.max_threads_per_block < threads) return all;
  for (std::uint32_t rung = 0; rung <= 4; ++rung)
    all.push_back({.blocks = l.units,
                   .threads = threads,
                   .ilp = reads,
                   .access_bytes = 4,
                   .bytes = set_bytes,
                   .one_block_per_sm = 1,
                   .rung = rung});
  return all;
}

std::optional<std::string> refuses(const Shape& s) {
  if (s.threads != threads || s.ilp != reads || s.access_bytes != 4 || s.bytes != set_bytes)
    return fmt::format("a block has {} threads, {} reads of 4 bytes in flight each, in {} bytes", threads, reads,
                       set_bytes);
  if (s.rung > most_rungs) return fmt::format("rung {}: a permutation is applied 0 to {} times", s.rung, most_rungs);
  return std::nullopt;
}

double mean_passes(const Shape& s) {
  const Permutation order(words);
  std::uint64_t passes = 0;
  for (std::uint32_t first = 0; first < words; first += lanes) {
    std::array<std::uint32_t, banks> asked{};
    for (std::uint32_t lane = 0; lane < lanes; ++lane) ++asked[place(order, s.rung, first + lane) % banks];
    passes += *std::ranges::max_element(asked);
  }
  return static_cast<double>(passes) / (words / lanes);
}

double work(const Shape& s) { return static_cast<double>(steps_of_repeat) * s.blocks * set_bytes; }

}  // namespace npgpu::banks
