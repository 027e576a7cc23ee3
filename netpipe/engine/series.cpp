#include "npgpu/series.hpp"

#include <fmt/format.h>

namespace npgpu {

std::optional<std::string> flaw_of_intact(std::int32_t intact) {
  if (intact < -1 || intact > 1) return fmt::format("has the unknown intact code {}", intact);
  return std::nullopt;
}

}  // namespace npgpu
