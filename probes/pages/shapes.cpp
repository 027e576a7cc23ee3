#include "probes/pages/shapes.hpp"

#include <fmt/format.h>

namespace npgpu::pages {

ProbeCase only_case(const std::string& device) {
  return {.probe = "pages",
          .device = device,
          .operation = Operation::chase,
          .type = DataType::fp64,
          .form = Form::dependent,
          .space = Space::global};
}

// Two to the octave, and the largest that leaves an eighth of memory to others.
std::vector<Shape> shapes(const Layout& l) {
  std::vector<Shape> all;
  const std::uint64_t most = l.memory_bytes / 8 * 7 / page_bytes * page_bytes;
  const auto add = [&](std::uint64_t bytes) {
    if (bytes <= most) all.push_back({.access_bytes = 8, .bytes = bytes, .one_block_per_sm = 1});
  };
  for (std::uint64_t bytes = least_bytes; bytes < most; bytes *= 2) add(bytes), add(bytes / 2 * 3);
  if (most >= least_bytes && (all.empty() || all.back().bytes < most)) add(most);
  return all;
}

std::optional<std::string> refuses(const Shape& s) {
  if (s.blocks != 1 || s.threads != 1 || s.ilp != 1 || s.access_bytes != 8)
    return "a chase has one block, one thread and one access of 8 bytes in flight";
  if (s.bytes < page_bytes || s.bytes % page_bytes) return fmt::format("{} bytes: whole pages of 2 MiB", s.bytes);
  return std::nullopt;
}

}  // namespace npgpu::pages
