// Which way of copying many pieces is done first: of what was measured, and of any number and size between.
//
// Example:
//   const std::vector<npgpu::PieceTable> tables = npgpu::piece_tables(npgpu::read_trace("node.h5"));
//   std::cout << tables.size() << " tables\n";
//   for (const npgpu::PieceTable& table : tables) {
//     const npgpu::PieceAdvice advice = npgpu::advise_pieces(table, 100, 3000);
//     std::cout << title(table.question) << ": " << npgpu::name(advice.ways.at(0).way) << ", "
//               << advice.ways.at(0).time_us.value << " us\n";
//   }
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "npgpu/trace.hpp"

namespace npgpu {

struct TextStyle;  // npgpu/report.hpp

struct WayTime {
  PieceWay way = PieceWay::loop;
  Estimate time_us;  // of one copy of all pieces
  Estimate host_us;  // of it, in calls; not of what is predicted
  // Its time over that of the fastest way, less 1. Measured: of the rounds that both were visited in, so that what
  // slowed a whole round counts for neither. Predicted: from both times.
  Estimate over_fastest;
  bool is_as_fast = false;  // the interval of over_fastest reaches 0: it cannot be told from the fastest one
};

struct PieceRow {
  std::uint32_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::vector<WayTime> ways;          // usable ones, the fastest first
  std::vector<std::string> unusable;  // "batch: the results were wrong"
  std::uint32_t causes = 0;           // of disturbance, of any way
  bool unsteady = false;

  std::uint64_t bytes() const { return pieces * piece_bytes; }
  const WayTime* of(PieceWay) const;  // null: not measured, or not usable
  bool is_decided() const { return ways.size() > 1 && !ways[1].is_as_fast; }
};

// A case: all its points, by pieces, then by size.
struct PieceTable {
  PieceCase question;
  std::string device_name;
  bool simulated = false;
  std::string error{};  // why it was not run to its end
  std::vector<PieceRow> rows;

  std::vector<PieceWay> ways() const;  // that were measured, in their order
};
std::vector<PieceTable> piece_tables(const Trace&);

// What a way takes for any number and size: straight lines between the measured sizes of a piece, and between the
// measured numbers of pieces. A time that is a constant, and a part for each piece, and a part for each byte, is a
// straight line in each of them.
struct PieceAdvice {
  std::uint32_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::vector<WayTime> ways;       // the fastest first
  std::vector<std::string> notes;  // where it rests on less than it should
  bool is_measured = false;        // the table has this point: these are its times, and no lines
};
// Intervals hold those of the measured times, and half of what such lines miss measured times by, if these are left out
// (9 of 10 are missed by less, as factors): without them the lines are twice as long. Throws Error(usage) where the
// point is more than 16 times beyond what was measured. REQUIRES: the table has a row.
PieceAdvice advise_pieces(const PieceTable&, std::uint32_t pieces, std::uint64_t piece_bytes);

// What each way of copying pieces takes, and which is done first.
struct PieceForecast {
  const PieceTable* table = nullptr;
  PieceAdvice advice;
};
void piece_advice_text(std::ostream&, const std::vector<PieceForecast>&, const TextStyle&);
void piece_advice_json(std::ostream&, const std::vector<PieceForecast>&);

}  // namespace npgpu
