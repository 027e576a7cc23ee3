// Where pieces lie: the slots of one end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npgpu/vocabulary/pieces.hpp"

namespace npgpu {

// Slot s begins s * pitch bytes behind the first. Before the first and behind the last one are guards.
class PieceSlots {
 public:
  static constexpr std::uint64_t guard_bytes = 256;  // what cudaMalloc aligns to
  static constexpr std::uint32_t empty = UINT32_MAX;

  PieceSlots() = default;
  // `seed`: of a random order.
  PieceSlots(PieceLayout, std::uint32_t pieces, std::uint64_t piece_bytes, std::uint64_t seed);

  std::uint64_t pitch() const { return pitch_; }
  std::uint32_t slots() const { return slots_; }
  std::uint64_t bytes() const { return slots_ * pitch_; }
  std::uint64_t offset(std::uint32_t piece) const { return pitch_ * (slot_of_.empty() ? piece : slot_of_[piece]); }
  // Where scattered pieces are; else empty, as piece k is in slot k.
  const std::vector<std::uint32_t>& slot_of() const { return slot_of_; }
  const std::vector<std::uint32_t>& piece_in() const { return piece_in_; }  // `empty`: none

  // What to say of a byte of an area that is not as expected; `place` counts from the first guard's first byte.
  std::string sentence(std::uint64_t place, std::uint64_t piece_bytes, std::uint8_t expected,
                       std::uint8_t actual) const;

  // With both guards.
  static std::uint64_t area_bytes(PieceLayout, std::uint32_t pieces, std::uint64_t piece_bytes);

 private:
  std::uint64_t pitch_ = 0;
  std::uint32_t slots_ = 0;
  std::vector<std::uint32_t> slot_of_, piece_in_;
};

// As rows of several planes, as many planes as rows where that is possible: for copies of three dimensions.
struct PiecePlanes {
  std::uint32_t rows = 1, planes = 1;
};
PiecePlanes planes_of(std::uint32_t pieces);

}  // namespace npgpu
