#include "netpipe/pieces/slots.hpp"

#include <fmt/format.h>

#include <numeric>
#include <random>
#include <utility>

namespace npgpu {

PieceSlots::PieceSlots(PieceLayout layout, std::uint32_t pieces, std::uint64_t piece_bytes, std::uint64_t seed)
    : pitch_(layout == PieceLayout::strided ? strided_pitch * piece_bytes : piece_bytes), slots_(pieces) {
  if (layout != PieceLayout::scattered) return;
  slots_ = static_cast<std::uint32_t>(slots_a_piece * pieces);
  std::vector<std::uint32_t> order(slots_);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 random(seed);
  for (std::uint32_t i = 0; i < pieces; ++i) std::swap(order[i], order[i + random() % (slots_ - i)]);
  slot_of_.assign(order.begin(), order.begin() + pieces);
  piece_in_.assign(slots_, empty);
  for (std::uint32_t i = 0; i < pieces; ++i) piece_in_[slot_of_[i]] = i;
}

std::string PieceSlots::sentence(std::uint64_t place, std::uint64_t piece_bytes, std::uint8_t expected,
                                 std::uint8_t actual) const {
  const std::string is = fmt::format(" is 0x{:02x}, expected 0x{:02x}", actual, expected);
  if (place < guard_bytes) return fmt::format("byte {} before the first slot{}", guard_bytes - place, is);
  const std::uint64_t at = place - guard_bytes;
  if (at >= bytes()) return fmt::format("byte {} behind the last slot{}", at - bytes() + 1, is);
  const std::uint64_t slot = at / pitch_, in_slot = at % pitch_;
  const std::uint64_t piece = piece_in_.empty() ? slot : piece_in_[slot];
  if (piece == empty) return fmt::format("byte {} of slot {}, which no piece is for,{}", in_slot, slot, is);
  if (in_slot >= piece_bytes) return fmt::format("byte {} behind piece {}{}", in_slot - piece_bytes + 1, piece, is);
  const bool untouched = actual == static_cast<std::uint8_t>(~expected);
  return fmt::format("byte {} of piece {} of {}{}{}", in_slot, piece,
                     piece_in_.empty() ? slots_ : static_cast<std::uint32_t>(slot_of_.size()), is,
                     untouched ? ": never written" : "");
}

std::uint64_t PieceSlots::area_bytes(PieceLayout layout, std::uint32_t pieces, std::uint64_t piece_bytes) {
  const std::uint64_t factor = layout == PieceLayout::contiguous ? 1
                               : layout == PieceLayout::strided  ? strided_pitch
                                                                 : slots_a_piece;
  return factor * pieces * piece_bytes + 2 * guard_bytes;
}

PiecePlanes planes_of(std::uint32_t pieces) {
  std::uint32_t planes = 1;
  for (std::uint32_t n = 1; std::uint64_t{n} * n <= pieces; ++n)
    if (pieces % n == 0) planes = n;
  return {pieces / planes, planes};
}

}  // namespace npgpu
