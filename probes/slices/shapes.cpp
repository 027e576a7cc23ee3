#include "probes/slices/shapes.hpp"

#include <fmt/format.h>

#include <set>

namespace npgpu::slices {

namespace {

// Lines from the set's begin on, so many bytes apart: neighbours, and such that differ in higher bits of the address.
constexpr std::uint64_t apart[] = {line_bytes, 4 * KiB, 64 * KiB};
constexpr std::uint32_t lines_apart = 64;
// From all multiprocessors. Their places have no distance in common.
constexpr std::uint32_t lines_of_all = 6;
constexpr std::uint64_t step_of_all = 340 * KiB + 9 * line_bytes;

Shape of_line(const Layout& l, std::uint32_t unit, std::uint64_t offset) {
  return {.blocks = l.units,
          .access_bytes = 8,
          .bytes = set_bytes,
          .one_block_per_sm = 1,
          .offset_bytes = static_cast<std::uint32_t>(offset),
          .sm = unit};
}

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  const auto of = [&](Operation operation) {
    return ProbeCase{"slices", device, operation, DataType::fp64, Form::dependent, Space::l2};
  };
  return {of(Operation::rmw), of(Operation::chase)};
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  const bool atomic = c.operation == Operation::rmw;
  std::set<std::uint64_t> offsets;
  for (const std::uint64_t step : apart)
    if (atomic || step == apart[1])
      for (std::uint64_t i = 0; i < lines_apart; ++i) offsets.insert(i * step);
  const std::uint32_t lines = atomic ? lines_of_all : 1;
  for (std::uint64_t i = 0; i < lines; ++i) offsets.insert(i * step_of_all);
  std::vector<Shape> all;
  for (const std::uint64_t offset : offsets) all.push_back(of_line(l, 1, offset));
  for (std::uint32_t unit = 2; unit <= l.units; ++unit)
    for (std::uint64_t i = 0; i < lines; ++i) all.push_back(of_line(l, unit, i * step_of_all));
  return all;
}

std::optional<std::string> refuses(const Shape& s) {
  if (s.threads != 1 || s.ilp != 1 || s.access_bytes != 8 || s.one_block_per_sm != 1)
    return "a block has one thread, with one access of 8 bytes in flight, and its multiprocessor for itself";
  if (s.sm < 1 || s.sm > s.blocks)
    return fmt::format("sm {}: one of the {} that have a block, from 1 on", s.sm, s.blocks);
  if (s.offset_bytes % line_bytes || s.offset_bytes + line_bytes > s.bytes)
    return fmt::format("offset {} is no line of 128 bytes of the set", s.offset_bytes);
  return std::nullopt;
}

}  // namespace npgpu::slices
