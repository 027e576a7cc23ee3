#include "probes/code/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npgpu::code {

ProbeCase only_case(const std::string& device) { return {.probe = "code", .device = device}; }

// One warp, and as many as fill all schedulers of all units.
std::vector<Shape> shapes(const Layout& l) {
  std::vector<Shape> all;
  const std::uint32_t full = std::min(512u, l.max_threads_per_block);
  for (const auto& [blocks, threads] : {std::pair{1u, 32u}, std::pair{l.units, full}})
    for (const std::uint64_t kib : {4, 8, 16, 24, 32, 48, 64, 96, 112, 128, 144, 160, 192, 256})
      all.push_back({.blocks = blocks, .threads = threads, .ilp = chains, .bytes = kib * KiB});
  return all;
}

std::optional<std::string> refuses(const Shape& s) {
  if (s.threads % 32) return fmt::format("{} threads: whole warps of 32", s.threads);
  if (s.ilp != chains) return fmt::format("ilp {}: a thread has 4 chains", s.ilp);
  if (s.bytes < part_bytes || s.bytes > most_bytes || s.bytes % part_bytes)
    return fmt::format("{} bytes of code: 1 to {} KiB, whole ones", s.bytes, most_bytes / KiB);
  return std::nullopt;
}

double work(const Shape& s) { return static_cast<double>(instructions(s)) * s.threads * s.blocks; }

}  // namespace npgpu::code
