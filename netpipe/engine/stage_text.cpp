#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "npgpu/messages.hpp"

namespace npgpu {

std::uint64_t extent_of(std::uint64_t bytes) {
  std::uint64_t extent = 16 * KiB;
  while (extent < bytes && extent <= UINT64_MAX / 4) extent *= 4;
  return extent;
}

std::string stage_fact(int partner, std::uint64_t extent, int stage) {
  return fmt::format("rank{}_extent{}_stage{}_us", partner, extent, stage);
}

std::string stage_text(const StageCost& stage) {
  std::string text = fmt::format("worker {}:", stage.worker);
  for (const auto& at : stage.curve) text += fmt::format(" {:.0f} {:.6g}", at.bytes, microseconds(at.time));
  return text;
}

std::optional<StageCost> parse_stage(const std::string& text) {
  std::istringstream words(text);
  std::string worker;
  char colon = 0;
  StageCost stage;
  if (!(words >> worker >> stage.worker >> colon) || worker != "worker" || colon != ':') return std::nullopt;
  double bytes = 0, us = 0;
  while (words >> bytes) {
    const bool ascends = stage.curve.empty() || bytes > stage.curve.back().bytes;
    if (!(words >> us) || !ascends || !(bytes >= 0) || !(us >= 0) || !std::isfinite(us)) return std::nullopt;
    stage.curve.push_back({bytes, from_microseconds(us)});
  }
  if (stage.curve.empty() || !words.eof()) return std::nullopt;
  return stage;
}

}  // namespace npgpu
