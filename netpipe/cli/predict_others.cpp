// npgpu predict, of other things than jobs: an all-reduce, and copies of pieces.
#include <fmt/format.h>

#include <iostream>

#include "netpipe/cli/characterize.hpp"
#include "netpipe/cli/predict.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/report/format.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

CollectiveForecast forecast_of(const CollectiveStudy& study, const CollectiveFigure& f, std::uint64_t bytes) {
  const std::uint64_t least = f.points.front().axes.bytes, most = f.points.back().axes.bytes;
  const auto us = time_of(f, bytes);
  if (!us || bytes > far_beyond * most)
    throw Error(ErrorKind::usage, fmt::format("--all-reduce: {} is too far from what was measured: {} to {}",
                                              typed_size_text(bytes), size_text(least), size_text(most)));
  return {&study, &f, bytes, *us};
}

}  // namespace

int predict_all_reduce(const Options& options, const Trace& trace) {
  const std::uint64_t bytes = parse_size("all-reduce", *options.maybe("all-reduce"), 1);
  const auto studies = collective_studies(trace, node_matrix(trace));
  std::vector<CollectiveForecast> all;
  for (const CollectiveStudy& study : studies)
    for (const CollectiveFigure& f : study.figures) {
      const CollectiveCase& c = f.question;
      if (c.operation == CollectiveOperation::all_reduce && !f.points.empty() && !c.in_place)
        all.push_back(forecast_of(study, f, bytes));
    }
  if (all.empty())
    throw Error(ErrorKind::usage,
                "--all-reduce: this trace has none: npgpu collectives --collective all-reduce measures it");
  if (options.on("json")) collective_forecast_json(std::cout, all);
  else collective_forecast_text(std::cout, all);
  return exit_code::done;
}

bool names_pieces(const Options& options) { return options.has("pieces") || options.has("piece-bytes"); }

void refuse_options_of_pieces(const Options& options) {
  (void)is_named(options, "direction", Direction::h2d);  // what is no word is refused first
  for (const char* option : {"layout", "other-layout"}) (void)is_named(options, option, PieceLayout::contiguous);
  for (const char* option : {"direction", "layout", "other-layout"})
    if (options.has(option))
      throw Error(ErrorKind::usage, fmt::format("--{}: it is of pieces: give --pieces and --piece-bytes too", option));
}

int predict_pieces(const Options& options, const Trace& trace, const std::string& path) {
  if (!options.has("pieces") || !options.has("piece-bytes"))
    throw Error(ErrorKind::usage, "--pieces and --piece-bytes belong together: how many pieces, and how large each is");
  const auto pieces = static_cast<std::uint32_t>(parse_count("pieces", options.text("pieces"), 1, most_pieces));
  const std::uint64_t bytes = parse_size("piece-bytes", options.text("piece-bytes"), 1);
  if (bytes > most_piece_bytes) throw Error(ErrorKind::usage, "--piece-bytes: a piece has 1 byte to 16 GiB");
  std::vector<PieceTable> tables = piece_tables(trace);
  if (tables.empty())
    throw Error(ErrorKind::usage,
                path + " holds no copies of pieces: npgpu pieces --append --output " + path + " measures them");
  std::erase_if(tables, [&](const PieceTable& table) {
    const PieceCase& c = table.question;
    const auto device = options.maybe("device");
    return table.rows.empty() || (device && *device != c.device) || !is_named(options, "direction", c.direction) ||
           !is_named(options, "layout", c.layout) || !is_named(options, "other-layout", c.other_layout);
  });
  if (tables.empty())
    throw Error(ErrorKind::usage,
                path + " holds no pieces that were copied like this: npgpu report " + path + " shows those it has");
  std::vector<PieceForecast> all;
  for (const PieceTable& table : tables) all.push_back({&table, advise_pieces(table, pieces, bytes)});
  if (options.on("json")) piece_advice_json(std::cout, all);
  else piece_advice_text(std::cout, all, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
