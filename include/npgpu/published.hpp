// What papers measured of the same architecture, and what a trace's probes say of a device: for each figure the
// ratio, and whether intervals, definitions or cards explain what is between the two. The figures ship with the program
// (data/published), each with its source, its card, and whether it was checked.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::PublishedTable& table : npgpu::published(trace, npgpu::derive(trace)))
//     for (const npgpu::PublishedRow& row : table.rows)
//       std::cout << row.figure.parameter << ": " << row.ours.value << " here, " << row.comparable << " on an "
//                 << row.figure.source.card << ", arXiv " << row.figure.source.arxiv << '\n';
#pragma once

#include <array>
#include <iosfwd>
#include <string>
#include <vector>

#include "npgpu/derive.hpp"
#include "npgpu/report.hpp"
#include "npgpu/trace.hpp"

namespace npgpu {

struct PublishedSource {
  std::string arxiv, title, card;
  double units = 0, clock_mhz = 0;  // of the card, and its highest
};

struct PublishedFigure {
  PublishedSource source;
  std::string parameter;   // that it is compared with
  std::string minus;       // its value less this one's; empty: alone
  double value = 0;        // as published
  std::string unit;        // "cycles", "B/cycle/SM"; of a whole card "B/cycle", "TB/s", "TFLOP/s", "TOP/s"
  std::string definition;  // how it was measured
  std::string differs;     // in what that is not how ours was; empty: not known to be otherwise
  bool checked = false;    // against notes of the paper's whole text
};

enum class Standing {
  agrees,       // to 3 % or 2 cycles
  interval,     // farther off, but our interval reaches there
  definition,   // and something else was measured
  card,         // and it is a rate of a whole card, whose clock is not known
  unexplained,  // and none of these
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Standing>{"agrees", "interval", "definition", "card",
                                                                    "unexplained"};

struct PublishedRow {
  PublishedFigure figure;
  Estimate ours;          // in its own unit
  double comparable = 0;  // the figure in that unit: a card's rate over its units and highest clock
  Estimate ratio;         // ours over it
  Standing standing = Standing::unexplained;
};

struct PublishedTable {
  std::string device, device_name, capability;
  bool simulated = false;
  std::vector<PublishedRow> rows;    // of parameters that were derived
  std::vector<std::string> missing;  // parameters that papers have and the trace has not
};

// One table for each device whose architecture there are figures of. `derived`: of the same trace.
std::vector<PublishedTable> published(const Trace&, const std::vector<DeviceParameters>& derived);

void published_text(std::ostream&, const std::vector<PublishedTable>&, const TextStyle&);
void published_json(std::ostream&, const std::vector<PublishedTable>&);

}  // namespace npgpu
