// npgpu pieces: which way of copying many pieces is fastest.

#include <algorithm>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/model/advice.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

std::vector<PieceWay> ways_of(const Options& options) {
  if (const auto words = options.maybe("way")) return parse_names<PieceWay>("way", *words);
  std::vector<PieceWay> all;
  for (std::size_t i = 0; i < names_of<PieceWay>.size(); ++i) all.push_back(static_cast<PieceWay>(i));
  return all;
}

// The usual shapes, but for what options name.
std::vector<PieceShape> shapes_of(const Options& options) {
  const auto usual = usual_pieces();
  std::vector<std::uint32_t> pieces;
  std::vector<std::uint64_t> sizes;
  for (const PieceShape& shape : usual) {
    pieces.push_back(shape.pieces);
    sizes.push_back(shape.piece_bytes);
  }
  if (const auto text = options.maybe("pieces")) {
    pieces.clear();
    for (const std::uint64_t n : parse_counts("pieces", *text, 1, most_pieces))
      pieces.push_back(static_cast<std::uint32_t>(n));
  }
  if (const auto text = options.maybe("piece-bytes")) sizes = parse_sizes("piece-bytes", *text);
  for (const std::uint64_t bytes : sizes)
    if (bytes == 0 || bytes > most_piece_bytes)
      throw Error(ErrorKind::usage, "--piece-bytes: a piece has 1 byte to 16 GiB");
  const auto sort_out = [](auto& all) {
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
  };
  sort_out(pieces), sort_out(sizes);
  auto all = piece_shapes(pieces, sizes, ways_of(options));
  if (options.has("pieces") && options.has("piece-bytes")) return all;
  std::uint64_t most = 0;
  for (const PieceShape& shape : usual) most = std::max(most, shape.bytes());
  std::erase_if(all, [most](const PieceShape& shape) { return shape.bytes() > most; });
  return all;
}

std::vector<PieceCase> cases_on(const Options& options, const std::string& device) {
  std::vector<Direction> directions{Direction::h2d, Direction::d2h};
  if (const auto words = options.maybe("direction")) directions = parse_names<Direction>("direction", *words);
  std::vector<PieceCase> all;
  for (const Direction direction : directions)
    for (const PieceLayout layout : names_or(options, "layout", PieceLayout::scattered))
      for (const PieceLayout other : names_or(options, "other-layout", PieceLayout::contiguous)) {
        const PieceCase c{device, direction, layout, other, options.on("async"), {}};
        if (direction != Direction::peer) {
          all.push_back(c);
          continue;
        }
        for (const std::string& target : targets_of(options, device)) {
          all.push_back(c);
          all.back().target = target;
        }
      }
  return all;
}

bool has_a_pitch(const PieceCase& c) {
  return c.layout != PieceLayout::scattered && c.other_layout != PieceLayout::scattered;
}

Plan pieces_plan(const Options& options) {
  refuse_targets_without_peers(options);
  const std::vector<PieceShape> shapes = shapes_of(options);
  const auto steps_on = [&](Plan&, const Backend<Pieces>&, const DeviceInfo& device) {
    std::vector<Step<Pieces>> steps;
    for (const PieceCase& c : cases_on(options, device.id))
      for (const PieceShape& shape : shapes) {
        const bool needs_pitch = shape.way == PieceWay::copy_2d || shape.way == PieceWay::copy_3d;
        if (needs_pitch && !has_a_pitch(c) && !options.has("way")) continue;
        steps.push_back({c, shape});
      }
    return steps;
  };
  return plan_for<Pieces>(gpu_ids(options, "pieces"), "has no pieces to copy: name a GPU, or sim:NAME", steps_on);
}

}  // namespace

Command pieces() {
  return {"pieces",
          "measure copies of many pieces: loop, 2D, batch, graph or kernel",
          "Measures copies of many pieces, as of the blocks of a cache or the faces of a grid, in each way that a "
          "program can issue them, and says which finishes first from which number and size on. npgpu predict --pieces "
          "then advises for other numbers and sizes. All bytes are compared, also those between the pieces.",
          {},
          {"npgpu pieces", "npgpu pieces --pieces 1..64 --piece-bytes 4KiB,64KiB --direction d2h --output pieces.h5",
           "npgpu pieces --layout strided,contiguous --direction d2d --async",
           "npgpu pieces --device sim:h200 --pieces 1,100 --piece-bytes 8KiB"},
          with_measure_options(
              {{"What is measured (lists: a,b,c)",
                {Option("device", {}, "A list. Default: the first GPU."),
                 Option("pieces", {}, "Default: 1,8,64,512,4096; up to 64 MiB together."),
                 Option("piece-bytes", {}, "Default: 256 to 1MiB, each four times the one before."),
                 Option("way", {}, "Default: all that can do it."), Option("direction", {}, "Default: h2d,d2h."),
                 Option("to", {}, "A list. Default: all others of the node."),
                 Option("layout", {}, "Default: scattered."), Option("other-layout", {}, "Default: contiguous."),
                 Option("async", {}, "Copies of all pieces then follow each other, and one wait follows the last.")}}}),
          [](const Options& options) { return measure(options, pieces_plan); }};
}

const Joined<ListedCommand> listed_pieces({Asks::able, 7, pieces});

}  // namespace npgpu::cli
