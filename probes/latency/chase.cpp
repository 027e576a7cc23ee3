#include "probes/latency/chase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "probes/walks.hpp"

namespace npgpu::chase {

std::vector<std::uint32_t> random_order(std::uint64_t lines, std::uint64_t lines_of_window, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> order(lines), windows((lines + lines_of_window - 1) / lines_of_window);
  std::iota(windows.begin(), windows.end(), 0u);
  shuffle(windows.begin(), windows.end(), random);
  auto at = order.begin();
  for (const std::uint32_t window : windows) {
    const auto begin = at;
    const std::uint64_t first = window * lines_of_window, end = std::min(first + lines_of_window, lines);
    for (std::uint64_t line = first; line < end; ++line) *at++ = static_cast<std::uint32_t>(line);
    shuffle(begin, at, random);
  }
  return order;
}

void link(std::byte* memory, const std::vector<std::uint32_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const void* next = memory + order[i + 1 < order.size() ? i + 1 : 0] * line_bytes;
    std::memcpy(memory + order[i] * line_bytes, &next, sizeof next);
  }
}

const void* walk(const void* at, std::uint64_t loads) {
  for (; loads >= 8; loads -= 8) {
    for (int i = 0; i < 8; ++i) at = *static_cast<const void* const volatile*>(at);
  }
  for (; loads; --loads) at = *static_cast<const void* const volatile*>(at);
  return at;
}

std::optional<std::string> check(const std::byte* memory, const std::vector<std::uint32_t>& order, std::uint64_t loads,
                                 const void* at) {
  const std::uint64_t line = order[loads % order.size()];
  if (at == memory + line * line_bytes) return std::nullopt;
  return fmt::format("after {} loads the chase is not at line {}, where its order leads", loads, line);
}

}  // namespace npgpu::chase
