#include "probes/occupancy/shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "netpipe/engine/each_once.hpp"

namespace npgpu::occupancy {

ProbeCase question(const std::string& device) {
  return {"occupancy", device, Operation::read, DataType::int32, Form::dependent, Space::l2};
}

std::vector<Shape> shapes(const Layout& l, std::span<const std::uint32_t> registers) {
  const Shape alone{.blocks = l.units * blocks_per_unit,
                    .threads = threads,
                    .access_bytes = 4,
                    .bytes = set_bytes,
                    .registers = registers.front()};
  std::vector<Shape> list;
  const auto add = [&](const Shape& shape) {  // a wave that is not whole would leave units idle
    if (blocks_per_unit % resident_blocks(l, shape) == 0) list.push_back(shape);
  };
  add(alone);
  for (std::uint32_t wanted = resident_blocks(l, alone) - 1; wanted > 0 && l.shared_bytes_per_unit > 0; --wanted) {
    Shape shape = alone;
    const std::uint32_t part = l.shared_bytes_per_unit / wanted - l.shared_bytes_reserved;
    shape.shared_bytes = static_cast<std::uint32_t>(std::min(part, l.shared_bytes_per_block) / KiB * KiB);
    if (shape.shared_bytes && resident_blocks(l, shape) == wanted) add(shape);
  }
  for (const std::uint32_t of_thread : registers.subspan(1)) {
    Shape shape = alone;
    shape.registers = of_thread;
    add(shape);
  }
  return each_once(std::move(list));
}

std::optional<std::string> refuses(const Layout& l, const Shape& s, std::span<const std::uint32_t> registers) {
  if (s.threads != threads || s.ilp != 1 || s.access_bytes != 4 || s.bytes != set_bytes)
    return fmt::format("blocks have {} threads, which read words of 4 bytes in {} bytes, one at a time", threads,
                       set_bytes);
  if (s.one_block_per_sm) return "shared memory and registers say how many blocks a unit holds";
  if (std::ranges::find(registers, s.registers) == registers.end())
    return fmt::format("threads of its kernels have {} registers", fmt::join(registers, ", "));
  if (s.shared_bytes > l.shared_bytes_per_block)
    return fmt::format("a block has at most {} bytes of shared memory", l.shared_bytes_per_block);
  return std::nullopt;
}

}  // namespace npgpu::occupancy
