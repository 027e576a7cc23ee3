#include "npgpu/vocabulary/pieces.hpp"

#include <fmt/format.h>

#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/result.hpp"

namespace npgpu {

namespace {

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
  if (shape.piece_bytes > UINT64_MAX / slots_a_piece / most_pieces) return "has more bytes than a number holds";
  return std::nullopt;
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
  if (has_pitch(step.axes.way) && strided_pitch * step.axes.piece_bytes > most_pitch)
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

// ---- how it is repeated, what a point costs, what its figure counts -------------------------------------------------

// Many points, most of them as short as calls.
Repetition Pieces::repetition() {
  return {.classic = {.target = Seconds{0.01}},
          .adaptive = {.trial = Seconds{0.0005}, .budget = Seconds{0.01}},
          .rounds = Repetition::usual_rounds};
}

PointCost Pieces::cost(const DeviceInfo& device, const Step<Pieces>& step) {
  if (device.simulated) return {Seconds{0}, Seconds{0}};
  const double pieces = step.axes.pieces, bytes = static_cast<double>(step.axes.bytes());
  const bool each = step.axes.way == PieceWay::loop || step.axes.way == PieceWay::graph;
  const bool inside = step.question.direction == Direction::d2d;
  const Seconds made{step.axes.way == PieceWay::graph ? pieces * 3e-6 : 0};
  return {Seconds{1e-5 + (each ? pieces * 1.5e-6 : pieces * 2e-7)} + PointCost::moving(bytes, inside ? 1e12 : 4e10),
          made + PointCost::moving(bytes, 4e9)};
}

std::vector<std::string> Pieces::other_devices(const PieceCase& c) {
  return c.target.empty() ? std::vector<std::string>{} : std::vector{c.target};
}

std::string_view Pieces::counted(const PieceCase&, const PieceResult&) { return "time of a copy of all pieces"; }

}  // namespace npgpu
