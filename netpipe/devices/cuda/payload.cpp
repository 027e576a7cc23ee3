#include "netpipe/devices/cuda/payload.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace npgpu::cuda {

void fill_source(std::byte* first, std::uint64_t bytes, std::uint64_t seed) {
  std::fill_n(first - payload::guard_bytes, payload::guard_bytes, std::byte{margin_byte});
  payload::fill({first, bytes}, seed);
  std::fill_n(first + bytes, payload::guard_bytes, std::byte{margin_byte});
}

std::string sentence(const WrongByte& wrong, std::uint64_t bytes) {
  const auto end = static_cast<std::int64_t>(bytes);
  if (wrong.place >= 0 && wrong.place < end)
    return payload::sentence({static_cast<std::uint64_t>(wrong.place), wrong.expected, wrong.actual}, bytes);
  const bool before = wrong.place < 0;
  const std::int64_t index = before ? wrong.place + static_cast<std::int64_t>(payload::guard_bytes) : wrong.place - end;
  return fmt::format(
      "guard byte {} of the {} {} the payload is 0x{:02x}, expected 0x{:02x}: the copy wrote outside its target", index,
      payload::guard_bytes, before ? "before" : "after", wrong.actual, wrong.expected);
}

}  // namespace npgpu::cuda
