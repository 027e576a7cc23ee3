#include "npgpu/pieces.hpp"

#include <fmt/format.h>

#include <numeric>
#include <random>

#include "netpipe/engine/piece_slots.hpp"

namespace npgpu {

namespace {

// Random slots are in a pool of twice as many.
constexpr std::uint64_t pool_factor = 2;
constexpr std::uint64_t pitch_factor = 2;
// cudaMemcpy2D takes no larger pitch.
constexpr std::uint64_t most_pitch = INT32_MAX;
constexpr std::uint64_t usual_total = 64 * MiB;

bool has_pitch(PieceWay way) { return way == PieceWay::copy_2d || way == PieceWay::copy_3d; }

}  // namespace

Seconds Pieces::timed(const Case&, std::span<const Sample> trial) { return from_microseconds(trial.front().done_us); }

std::string title(const PieceCase& c) {
  const bool host = c.direction == Direction::h2d || c.direction == Direction::d2h;
  return fmt::format("pieces {} {} {}, {} {}{}{}", c.device, name(c.direction), name(c.layout), name(c.other_layout),
                     host ? "on the host" : "at the target", c.async ? " async" : "",
                     c.target.empty() ? "" : " to " + c.target);
}

std::optional<std::string> flaw_of(const PieceShape& shape) {
  if (shape.pieces == 0 || shape.pieces > most_pieces)
    return fmt::format("has {} pieces, and 1 to {} are taken", shape.pieces, most_pieces);
  if (shape.piece_bytes == 0) return "has pieces of 0 bytes";
  if (shape.piece_bytes > UINT64_MAX / pool_factor / most_pieces) return "has more bytes than a number holds";
  return std::nullopt;
}
std::optional<std::string> flaw_of(const PieceSample& sample) {
  if (sample.repeats == 0) return "has 0 repeats";
  return flaw_of_intact(sample.intact);
}

std::string text_of(const PieceShape& shape) {
  return fmt::format("{} x {} by {}", shape.pieces, size_text(shape.piece_bytes), name(shape.way));
}

std::optional<std::string> why_no_pieces(const Step<Pieces>& step) {
  const PieceCase& c = step.question;
  if (const auto flaw = flaw_of(step.axes)) return "--pieces, --piece-bytes: the point " + *flaw;
  if (c.direction == Direction::h2h) return "--direction h2h: pieces go to, from or within a device: use h2d";
  if ((c.direction == Direction::peer) != !c.target.empty() || c.target == c.device)
    return "--direction peer needs two devices: name the other one with --to";
  const bool scattered = c.layout == PieceLayout::scattered || c.other_layout == PieceLayout::scattered;
  if (has_pitch(step.axes.way) && scattered)
    return fmt::format("--way {}: scattered pieces have no pitch: use --layout strided", name(step.axes.way));
  if (has_pitch(step.axes.way) && pitch_factor * step.axes.piece_bytes > most_pitch)
    return fmt::format("--way {}: its pitch is at most 2 GiB - 1: use smaller pieces", name(step.axes.way));
  return std::nullopt;
}

std::vector<PieceShape> piece_shapes(const std::vector<std::uint32_t>& pieces,
                                     const std::vector<std::uint64_t>& piece_bytes, const std::vector<PieceWay>& ways) {
  std::vector<PieceShape> all;
  for (const std::uint32_t n : pieces)
    for (const std::uint64_t bytes : piece_bytes)
      for (const PieceWay way : ways) all.push_back({n, bytes, way});
  return all;
}

std::vector<PieceShape> usual_pieces() {
  auto all = piece_shapes(
      {1, 8, 64, 512, 4096}, {256, KiB, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB},
      {PieceWay::loop, PieceWay::copy_2d, PieceWay::copy_3d, PieceWay::batch, PieceWay::graph, PieceWay::kernel});
  std::erase_if(all, [](const PieceShape& shape) { return shape.bytes() > usual_total; });
  return all;
}

PieceSlots::PieceSlots(PieceLayout layout, std::uint32_t pieces, std::uint64_t piece_bytes, std::uint64_t seed)
    : pitch_(layout == PieceLayout::strided ? pitch_factor * piece_bytes : piece_bytes), slots_(pieces) {
  if (layout != PieceLayout::scattered) return;
  slots_ = static_cast<std::uint32_t>(pool_factor * pieces);
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
                               : layout == PieceLayout::strided  ? pitch_factor
                                                                 : pool_factor;
  return factor * pieces * piece_bytes + 2 * guard_bytes;
}

PiecePlanes planes_of(std::uint32_t pieces) {
  std::uint32_t planes = 1;
  for (std::uint32_t n = 1; std::uint64_t{n} * n <= pieces; ++n)
    if (pieces % n == 0) planes = n;
  return {pieces / planes, planes};
}

}  // namespace npgpu
