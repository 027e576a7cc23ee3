// Copies of many pieces: blocks of a cache, the faces of a grid, tiles of a matrix. A program can issue them in several
// ways, and which one is fastest depends on the number and the size of the pieces. A case asks that question; the way
// is an axis of its points.
//
// Example:
//   const npgpu::DeviceInfo gpu = npgpu::devices::find("sim:h200");  // or cuda:0
//   const npgpu::PieceCase question{.device = gpu.id, .direction = npgpu::Direction::d2h};
//   npgpu::Plan plan;  // for npgpu::measure()
//   npgpu::add<npgpu::Pieces>(plan, *npgpu::reaching(npgpu::backends<npgpu::Pieces>(), "sim").at(0), gpu,
//                             npgpu::steps_of<npgpu::Pieces>(question, npgpu::usual_pieces()));
//   std::cout << title(question) << ": " << plan.points() << " points\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npgpu/measuring/runner.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

// How the pieces lie in one end's memory. Piece k is the k-th of the list on both ends.
enum class PieceLayout {
  contiguous,  // one behind the other, in order
  strided,     // in order, at a distance of twice a piece: rows of a matrix, of which each is half taken
  scattered,   // in slots of a pool of twice as many, in a random order
};
// How a program issues the copies. All lists of addresses are made beforehand.
enum class PieceWay {
  loop,     // cudaMemcpyAsync for each piece
  copy_2d,  // one cudaMemcpy2DAsync: both ends have a pitch
  copy_3d,  // one cudaMemcpy3DAsync of the same pieces as rows of several planes
  batch,    // one cudaMemcpyBatchAsync (CUDA 12.8)
  graph,    // cudaGraphLaunch of a graph of the loop's copies, one after the other, which was instantiated beforehand
  kernel,   // a kernel of npgpu's own, which has the order of the slots in device memory; of the host's memory in place
};
template <>
inline constexpr std::array<std::string_view, 3> names_of<PieceLayout>{"contiguous", "strided", "scattered"};
template <>
inline constexpr std::array<std::string_view, 6> names_of<PieceWay>{"loop",  "copy-2d", "copy-3d",
                                                                    "batch", "graph",   "kernel"};

struct PieceCase {
  std::string device{};                                // of copies between two: the source
  Direction direction = Direction::h2d;                // h2d, d2h (pinned memory), d2d, peer
  PieceLayout layout = PieceLayout::scattered;         // in the device's memory; of d2d and peer: of the source
  PieceLayout other_layout = PieceLayout::contiguous;  // of the other end
  bool async = false;    // all copies of a trial back to back, then one wait; else each one's end is waited for
  std::string target{};  // of peer: the other device

  auto operator<=>(const PieceCase&) const = default;
};
template <>
inline constexpr auto fields_of<PieceCase> = fields(field("device", &PieceCase::device),
                                                    field("direction", &PieceCase::direction),
                                                    field("layout", &PieceCase::layout),
                                                    field("other_layout", &PieceCase::other_layout),
                                                    field("async", &PieceCase::async),
                                                    field("target", &PieceCase::target));
inline std::string device_of(const PieceCase& c) { return c.device; }
inline bool is_host_timed(const PieceCase&) { return true; }
inline PieceLayout source_layout(const PieceCase& c) {
  return c.direction == Direction::h2d ? c.other_layout : c.layout;
}
inline PieceLayout target_layout(const PieceCase& c) {
  return c.direction == Direction::h2d ? c.layout : c.other_layout;
}
// "pieces cuda:0 h2d scattered, contiguous on the host", "... async to cuda:1".
std::string title(const PieceCase&);

inline constexpr std::uint32_t most_pieces = 65536;
inline constexpr std::uint64_t most_piece_bytes = std::uint64_t{1} << 34;
inline constexpr std::uint64_t slots_a_piece = 2;  // of a scattered layout: pieces are in some of them, at random
inline constexpr std::uint64_t strided_pitch = 2;  // lengths of a piece

struct PieceShape {
  std::uint32_t pieces = 1;       // 1 to most_pieces
  std::uint64_t piece_bytes = 0;  // of each
  PieceWay way = PieceWay::loop;

  std::uint64_t bytes() const { return pieces * piece_bytes; }
  auto operator<=>(const PieceShape&) const = default;
};
template <>
inline constexpr auto fields_of<PieceShape> = fields(field("pieces", &PieceShape::pieces),
                                                     field("piece_bytes", &PieceShape::piece_bytes, "B"),
                                                     field("way", &PieceShape::way));

// One trial of `repeats` copies of all pieces.
struct PieceSample {
  std::uint32_t visit = 0;
  std::uint32_t trial = 0;
  std::int32_t intact = -1;  // 1 all pieces and what is between them were compared and right, 0 wrong, -1 not compared
  std::uint64_t repeats = 0;
  double host_us = not_measured;  // of all repeats together: in the calls, until they returned
  double done_us = not_measured;  // the same until the host knows that the copies are done

  bool operator==(const PieceSample&) const = default;
};
template <>
inline constexpr auto fields_of<PieceSample> = fields(field("visit", &PieceSample::visit),
                                                      field("trial", &PieceSample::trial),
                                                      field("intact", &PieceSample::intact, "1", intact_codes),
                                                      field("repeats", &PieceSample::repeats),
                                                      field("host_us", &PieceSample::host_us, "us"),
                                                      field("done_us", &PieceSample::done_us, "us"));

inline TimeClass class_of(const PieceCase&) { return TimeClass::calls; }

struct Pieces : UsualKind {
  static constexpr std::string_view name = "pieces";
  static constexpr std::string_view singular = "copy of pieces";
  static constexpr std::string_view command = "pieces";
  static constexpr bool is_copy = true;
  static constexpr std::string_view smaller = "measure fewer or smaller pieces (--pieces, --piece-bytes)";
  using Case = PieceCase;
  using Axes = PieceShape;
  using Sample = PieceSample;
  struct Details {
    Estimate host_us;  // until the calls of one copy of all pieces have returned
  };
  static Seconds timed(const Case&, std::span<const Sample> trial);  // until done
  static Repetition repetition();
  static PointCost cost(const DeviceInfo&, const Step<Pieces>&);
  static double work(const Case&, const Axes& axes) { return static_cast<double>(axes.bytes()); }
  static std::vector<std::string> other_devices(const Case&);
  static std::vector<Result<Pieces>> results(const Series<Pieces>&);
  static std::string_view counted(const Case&, const Result<Pieces>&);
};
using PieceSeries = Series<Pieces>;
using PiecePoint = Point<Pieces>;
using PieceResult = Result<Pieces>;

std::optional<std::string> flaw_of(const PieceShape&);
std::string text_of(const PieceShape&);  // "64 x 4 KiB by kernel"

// Why no device does this, and what would make it run, in one sentence that names the options; nothing if one may.
std::optional<std::string> why_no_pieces(const Step<Pieces>&);

// What is measured where nothing is named: 1 to 4096 pieces of 256 B to 1 MiB, up to 64 MiB together, in all ways.
std::vector<PieceShape> usual_pieces();
std::vector<PieceShape> piece_shapes(const std::vector<std::uint32_t>& pieces,
                                     const std::vector<std::uint64_t>& piece_bytes, const std::vector<PieceWay>&);

}  // namespace npgpu
