#include <fmt/format.h>

#include <array>

#include "npgpu/series.hpp"

namespace npgpu {

std::string size_text(std::uint64_t bytes) {
  // Sizes that were given in decimal units: 64 MB is 62500 KiB.
  constexpr std::uint64_t MB = 1'000'000, GB = 1000 * MB;
  if (bytes >= MB && bytes % MB == 0 && bytes % MiB != 0)
    return bytes % GB == 0 ? fmt::format("{} GB", bytes / GB) : fmt::format("{} MB", bytes / MB);
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  for (std::size_t i = units.size(); i-- > 0;) {
    const std::uint64_t unit = std::uint64_t{1} << (10 * (i + 1));
    // Quarters are exact in two decimals; any other part would be rounded, and is written in bytes.
    if (bytes >= unit && bytes % (unit / 4) == 0)
      return fmt::format("{}{} {}", bytes / unit,
                         std::array{"", ".25", ".5", ".75"}[static_cast<std::size_t>(bytes % unit / (unit / 4))],
                         units[i]);
  }
  return fmt::format("{} B", bytes);
}

std::optional<std::string> flaw_of_intact(std::int32_t intact) {
  if (intact < -1 || intact > 1) return fmt::format("has the unknown intact code {}", intact);
  return std::nullopt;
}

}  // namespace npgpu
