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

std::string chunk_fact(int partner, Pattern pattern, std::uint64_t bytes) {
  return fmt::format("rank{}_{}{}_chunk", partner, name(pattern), bytes);
}

std::string choice_text(const ChunkChoice& choice) {
  std::string text = fmt::format("advised {}, taken {}", choice.advised, choice.taken);
  for (const ChunkChoice::Tried& one : choice.tried)
    text += fmt::format("{} {} {:.6g}", text.find(':') == text.npos ? ":" : "", one.chunk, microseconds(one.least));
  return text;
}

std::optional<ChunkChoice> parse_choice(const std::string& text) {
  std::istringstream words(text);
  std::string advised, taken;
  char mark = 0;
  ChunkChoice choice;
  if (!(words >> advised >> choice.advised >> mark >> taken >> choice.taken) || advised != "advised" || mark != ',' ||
      taken != "taken" || choice.advised == 0 || choice.taken == 0)
    return std::nullopt;
  if (words >> mark && mark != ':') return std::nullopt;
  std::uint64_t chunk = 0;
  double us = 0;
  while (words >> chunk) {
    if (!(words >> us) || !(us >= 0) || !std::isfinite(us)) return std::nullopt;
    choice.tried.push_back({chunk, from_microseconds(us)});
  }
  if (!words.eof()) return std::nullopt;
  return choice;
}

}  // namespace npgpu
